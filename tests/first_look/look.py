"""Makes a folder like tests/data/unseen of models in a random order: look.py OUT SEED POOL=COUNT... (README.md)

POOL is a name in pools.py, or a Python file whose ENTRIES are Entry values. Each model is measured and exported in a
process of its own. A model that cannot be measured or exported, or whose step takes what a draw decides (layers left
out by chance), gives its place to the next.
"""
import csv, importlib.util, os, random, shlex, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS = ('model', 'library', 'batch', 'mode', 'precision', 'loss', 'dims', 'requested', 'parameters', 'trained', 'frozen', 'buffers')
ROWS = [(0, 'train', 'fp32'), (1, 'train', 'fp32'), (1, 'train', 'amp-fp16'), (0, 'infer', 'fp32'), (1, 'infer', 'fp32'), (1, 'infer', 'amp-fp16')]
SECONDS = 420


def pool(name):
    if name.endswith('.py'):
        spec = importlib.util.spec_from_file_location('hand', name)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return {e.name: (lambda e=e: e) for e in module.ENTRIES}
    import pools
    return pools.POOLS[name]()


def measure(pool_name, name):
    import entry as of
    entry = pool(pool_name)[name]()
    peaks = [of.peak(entry, entry.batches[0], 'train', 'fp32', seed) for seed in range(3)]
    if max(peaks) > 1.005 * min(peaks): sys.exit(f'{name}: a draw decides what a step takes: {peaks}')
    sizes = of.sizes(entry)
    out = csv.writer(sys.stdout)
    for which, mode, precision in ROWS:
        try: out.writerow((entry.name, entry.library, entry.batches[which], mode, precision, entry.loss, '', of.peak(entry, entry.batches[which], mode, precision), *sizes))
        except Exception as error: print(f'{name} {mode} {precision}: {type(error).__name__} {error}'[:300], file=sys.stderr)


def export(pool_name, name, folder):
    import entry as of
    entry = pool(pool_name)[name]()
    for variant in of.VARIANTS:
        try: of.export(entry, variant, f'{folder}/models/{name}.{variant}.onnx.gz')
        except BaseException as error: print(f'{name} {variant}: {type(error).__name__} {error}'[:300].replace('\n', ' '), file=sys.stderr)


def child(card, *words):
    environment = {**os.environ, 'PYTHONPATH': HERE, 'HF_HUB_OFFLINE': '1'}
    try: return subprocess.run([*card, os.path.abspath(__file__), *words], env=environment, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired: return None


def models_of(folder):
    with open(f'{folder}/truth.csv', newline='') as table: return {row['model'] for row in csv.DictReader(table)}


def look(folder, seed, counts, card, seen):
    os.makedirs(f'{folder}/models', exist_ok=True)
    log = open(f'{folder}/log.txt', 'a')
    table = f'{folder}/truth.csv'
    for name, count in counts:
        source = 'by_hand' if name.endswith('.py') else name
        names = sorted(pool(name))
        random.Random(f'{seed} {source}').shuffle(names)
        for model in names:
            if count == 0: break
            if model in seen: continue
            told = child(card, 'measure', name, model)
            rows = list(csv.reader(told.stdout.splitlines())) if told else []
            rows = [r for r in rows if len(r) == len(COLUMNS)]
            log.write(f'{model}: {len(rows)} rows\n{told.stderr[-2000:] if told else "too slow"}\n')
            log.flush()
            if not any(r[3] == 'train' for r in rows): continue
            told = child([sys.executable], 'export', name, model, folder)
            log.write(f'{told.stderr[-3000:] if told else "too slow"}\n')
            if not any(f.startswith(model + '.') for f in os.listdir(f'{folder}/models')): continue
            new = not os.path.exists(table)
            with open(table, 'a', newline='') as out:
                writer = csv.writer(out, lineterminator='\n')
                if new: writer.writerow(COLUMNS)
                writer.writerows(rows)
            count -= 1
            print(model, len(rows), flush=True)


if __name__ == '__main__':
    if sys.argv[1] == 'measure': measure(*sys.argv[2:])
    elif sys.argv[1] == 'export': export(*sys.argv[2:])
    else:
        counts = [(word.rpartition('=')[0], int(word.rpartition('=')[2])) for word in sys.argv[3:]]
        seen = set().union(*(models_of(folder) for folder in os.environ.get('SEEN', '').split(':') if folder))
        look(sys.argv[1], sys.argv[2], counts, shlex.split(os.environ.get('CARD', sys.executable)), seen)
