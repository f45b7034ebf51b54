#!/usr/bin/env python3
"""What each rule about files is worth: python3 tests/ablate/ablate.py BUILD/tests/vramplan_tests|OUTPUT... [KIND,KIND...]

Leaves out one rule after another (passes over a file, steps of reading one, rules of how long a name lives, habits of
libraries, ambiguities), asks the held-out models and the development models again on which it acted, and writes
docs/ablation.md. README.md says how to read it. It takes an hour on two cores; VRAMPLAN_EVERY=3 asks every third
held-out row only. Instead of the program, what its test case "ablation" printed may be named, in as many files as there
are.
"""
import glob, os, re, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDERS = ['tests/data/gate', 'tests/data/unseen']
KINDS = {
    'pass': 'Passes (graph/lift/passes.cc)',
    'read': 'Steps of reading a file',
    'form': 'Calls that were taken apart, by their form (graph/lift/any_export)',
    'match': 'Patterns of nodes (graph/lift/match)',
    'lifetime': 'Rules of how long a name lives (planner/lifetimes)',
    'habit': 'Habits of names (graph/habits)',
    'effect': 'Habits of classes (graph/habits)',
    'ambiguity': 'Ambiguities and assumptions that are told',
}


def text_of(path):
    with open(os.path.join(ROOT, path)) as file: return file.read()


SOURCES = {os.path.relpath(path, ROOT): text_of(path) for room in ('graph', 'planner') for path in glob.glob(f'{ROOT}/{room}/**/*.cc', recursive=True)}


def span(function):
    """The file that defines a function at its first column, and how many lines it has."""
    for path, text in SOURCES.items():
        lines = text.split('\n')
        for at, line in enumerate(lines):
            if not re.match(rf'[A-Za-z].*\b{re.escape(function)}\(', line): continue
            end = next((e for e in range(at, len(lines)) if lines[e].rstrip().endswith((';', '{'))), at)
            if not lines[end].rstrip().endswith('{'): continue
            close = next((e for e in range(end, len(lines)) if lines[e] == '}'), at)
            return path, close - at + 1
    return None, 0


def enumerators(of):
    text = text_of('graph/habits/habits.h')
    body = text[text.index(of):]
    body = body[body.index('{') + 1:body.index('};')]
    return [word.strip() for word in re.sub(r'//.*', '', body).split(',') if word.strip()]


NAMES, EFFECTS = enumerators('enum class Of'), enumerators('enum class Effect')


def calls_in_row(path, name):
    """Functions that a table's row with this name calls."""
    text = SOURCES[path]
    at = text.find(f'{{"{name}"')
    if at < 0: return []
    end = re.compile(r'\n    \{"|\n\};|\n    \};').search(text, at + 1)
    return re.findall(r'\b([A-Z]\w+)\b(?=\(|\})', text[at:end.start() if end else None])


def place_of(kind, name):
    """Where a rule stands, and how many lines it has: its function, or its file where the file has no other rule."""
    if kind == 'pass':
        for function in reversed(calls_in_row('graph/lift/passes.cc', name)):
            path, lines = span(function)
            if not path or path.endswith('passes.cc'): continue
            others = len(re.findall(r'^[A-Za-z].*\((?:Layers\* layers|const Graph& graph, const Shapes)', SOURCES[path], re.M))
            return path, len(SOURCES[path].split('\n')) if others <= 1 else lines
    if kind == 'lifetime':
        for function in calls_in_row('planner/lifetimes/lifetimes.cc', name):
            path, lines = span(function)
            if path: return path, len(SOURCES[path].split('\n')) if not path.endswith('lifetimes.cc') else lines
    if kind in ('habit', 'effect'):
        if name == 'of activations': return 'graph/habits/habits.cc', span('ActivationHabitOf')[1]
        word = name
        rows = sum(len(re.findall(rf'\b{word}\b', text)) for path, text in SOURCES.items() if path.startswith('graph/habits/'))
        users = sorted(path for path, text in SOURCES.items() if re.search(rf'::{word}\b', text) and not path.startswith('graph/habits/'))
        return ', '.join(users), rows
    if kind == 'ambiguity':
        for path, text in SOURCES.items():
            at = text.find(f'"{name}"')
            if at < 0 or not (path.startswith('graph/lift/readings') or path.endswith('assumptions.cc')): continue
            begin = text.rfind('\n}\n', 0, at)
            end = text.find('\n}\n', at)
            return path, text[begin + 3:end].count('\n') + 2
    if kind == 'read':
        room, _, function = name.partition(' ')
        if not function: return next((p for p in SOURCES if p.endswith(f'/{room}.cc')), ''), 0
        for path, text in SOURCES.items():
            if not path.endswith(f'/{room}.cc'): continue
            at = text.find(f'"{name}"')
            begin, end = text.rfind('{\n', 0, at), re.compile(r'\n(  )?\}\n').search(text, at)
            return path, text[begin:end.end()].count('\n')
    if kind == 'form':
        files = ['decomposed_calls', 'decomposed_losses', 'reparametrized']
        call = name.split(' of ')[0]
        return next((p for p in SOURCES for f in files if p.endswith(f'/{f}.cc') and f'"{call}"' in SOURCES[p]), ''), 1
    if kind == 'match':
        family = name.split(' ')[0]
        return next((p for p in SOURCES if p.endswith(f'/{family}.cc') or p.endswith(f'/patterns_{family}.cc')), ''), 1
    return '', 0


def everything(kind):
    """Rules that the sources name, so that one that never acts has a row, too."""
    if kind == 'habit': return NAMES
    if kind == 'effect': return [effect for effect in EFFECTS if not effect.startswith('kActs')] + ['of activations']
    if kind == 'read': return sorted(set(re.findall(r'Runs\("read", "([^"]+)"\)', ''.join(SOURCES.values()))))
    if kind == 'lifetime': return re.findall(r'^        \{"([a-z-]+)", ', SOURCES['planner/lifetimes/lifetimes.cc'], re.M)
    if kind == 'ambiguity':
        text = ''.join(t for p, t in SOURCES.items() if p.startswith('graph/lift/readings') or p.endswith('answers/assumptions.cc'))
        return sorted(set(re.findall(r'(?:\.code = |Reading\{|ReadAs\([^;]*?, )"([a-z-]+)"', text)))
    return []


def worst_of(cell):
    """Of "t5_small.pt2 2 of 9 +0.10 %;t5_small.ts-train 4 of 9 +3.20 %;": "t5_small.ts-train +3.20 % and 1 more"."""
    files = [(float(words[-2]), words[0]) for words in (file.split() for file in cell.split(';')) if words]
    if not files: return ''
    error, file = max(files)
    return f'{file} {error:+.2f} %' + (f' and {len(files) - 1} more' if len(files) > 1 else '')


def is_there(kind, name):
    text = ''.join(SOURCES.values())
    if kind in ('habit', 'effect'): return name in NAMES + EFFECTS + ['of activations']
    return kind in ('match', 'form') or f'"{name}"' in text


def main():
    files = [word for word in sys.argv[1:] if os.path.exists(word)]
    kinds = next((word.split(',') for word in sys.argv[1:] if word not in files), list(KINDS))
    if os.access(files[0], os.X_OK):
        environment = {**os.environ, 'VRAMPLAN_ABLATE': ':'.join(FOLDERS), 'VRAMPLAN_KINDS': ','.join(kinds)}
        told = subprocess.run([os.path.abspath(files[0]), '-tc=ablation', '--no-skip'], cwd=ROOT, env=environment, capture_output=True, text=True).stdout
    else:
        told = '\n'.join(open(file).read() for file in files)
    rows = {}
    asked = ''
    for line in told.split('\n'):
        cells = line.split('\t')
        if line.startswith('asked:') and not asked: asked = line
        if len(cells) != 8 or cells[0] == 'rule': continue
        kind, _, name = cells[0].partition(' ')
        name = name.replace('|', '\\|')
        if name.isdigit(): name = (NAMES if kind == 'habit' else EFFECTS)[int(name)]
        rows[kind, name] = cells[1:]
    out = [text_of('tests/ablate/HEAD.md').rstrip(), '', asked, '']
    for kind in kinds:
        out += [f'## {KINDS[kind]}', '', '| rule | where | lines | acts on models | right | bounded | silent | models whose answers change | development models, and the largest error that it saves |', '|---|---|---|---|---|---|---|---|---|']
        known = {name for of, name in rows if of == kind} | set(everything(kind))
        nothing = ['0', '0', '+0', '+0', '+0', '', '']
        def order(name):
            cells = rows.get((kind, name), nothing)
            return int(cells[2]), -len(cells[5].split()), -len(cells[6].split(';')), -int(cells[0]), name
        for name in sorted(known, key=order):
            if kind == 'lifetime' and name in ('', 'read'): continue
            cells = rows.get((kind, name), nothing)
            path, lines = place_of(kind, name)
            changed = cells[5].split()
            models = ', '.join(changed[:3]) + (f' and {len(changed) - 3} more' if len(changed) > 3 else '')
            out.append(f'| {name} | {path or ("" if is_there(kind, name) else "gone")} | {lines or ""} | {cells[0]} | {cells[2]} | {cells[3]} | {cells[4]} | {models} | {worst_of(cells[6])} |')
        out.append('')
    with open(os.path.join(ROOT, 'docs/ablation.md'), 'w') as file: file.write('\n'.join(out))


main()
