"""Which steps of optimizers end a step of the training. Of one optimizer all do; of several that step in turn (a GAN) the
last of each round:

    D G D G D G        | D G | D G | D G |
    A A A B B          | A | A | A | B | B |      a second stage, whether A lives on or not
    D D D D D G D      | D | D | D | D | D G | D |

A round begins with the optimizer that leads: the first that steps, as long as it comes back. When it does not, another one
leads: one that was made after it had begun, or that steps more often than ever in a round of the old one.

Steps of one optimizer that follow each other, each with other parameters, are one: DeepSpeed's stage 3 gives it a part of them
at a time (runtime/zero/stage3.py, sub_group_size).
"""

import bisect
import collections
import functools
import weakref

_LATE = 10  # so many rounds more are waited for an optimizer that was made and has not stepped twice


class Step:
    """A step of an optimizer, in its place among the lines of a recording."""

    def __init__(self, number, who, by_card, seconds):
        self.number, self.who, self.by_card, self.seconds = number, who, by_card, seconds
        self.goes_on = False  # the next one is of the same step


class Steps:
    def __init__(self, torch, wanted, place):
        self.wanted = wanted  # 0: all
        self.made = weakref.WeakKeyDictionary()  # optimizer: its number
        self.began = []  # by number: how many steps there were when it was made
        self.places = []  # by number: the line that made it
        self.taken = []
        self.ends = []
        self.last, self.stepped = None, set()  # the latest, and the parameters that it and those that it goes on had
        whole = torch.optim.Optimizer.__init__

        @functools.wraps(whole)
        def made(optimizer, *arguments, **named):
            whole(optimizer, *arguments, **named)
            self.number(optimizer, len(self.taken), place())
        torch.optim.Optimizer.__init__ = made

    def number(self, optimizer, made_at=0, place=("", 0, "")):
        if optimizer not in self.made:
            self.made[optimizer] = len(self.began)
            self.began.append(made_at)
            self.places.append(place)
        return self.made[optimizer]

    def take(self, optimizer, by_card, seconds):
        goes_on = self.goes_on(optimizer)
        step = Step(len(self.taken) - goes_on, self.number(optimizer), by_card, seconds)
        if goes_on:
            self.last.goes_on = True
            self.taken[-1] = step
        else:
            self.taken.append(step)
        self.last, self.stepped = step, parameters_of(optimizer) | (self.stepped if goes_on else set())
        if self.wanted:
            self.ends = ends_of([each.who for each in self.taken], self.began)
        return step

    def goes_on(self, optimizer):
        """Whether a step of it now is a part of the latest one."""
        parameters = parameters_of(optimizer)
        return self.last is not None and self.last.who == self.made.get(optimizer) and bool(parameters) and not parameters & self.stepped

    def rounds(self):
        """Those of the optimizer that leads: who stepped in each."""
        found = [[]]
        for step, ends in zip(self.taken, self.ends):
            found[-1].append(step.who)
            if ends:
                found.append([])
        rounds = found[:-1]
        return [each for each in rounds if each[0] == rounds[-1][0]]

    def enough(self, optimizer=None):
        """As many rounds as are wanted, and two turns of every optimizer that there is, of which the second finds its states;
        before a step of `optimizer`, or a forward."""
        if optimizer is not None and self.goes_on(optimizer):
            return False
        rounds = self.rounds() if self.wanted else ()
        if len(rounds) < max(self.wanted, 1):
            return False
        if (self.waiting() or self.began_late(rounds)) and len(rounds) < self.wanted + _LATE:
            return False
        leads = optimizer is not None and self.number(optimizer) == rounds[-1][0]
        return leads or len(rounds) < 2 or set(rounds[-2]) <= set(rounds[-1])

    def waiting(self):
        """The lines that made optimizers which are alive and never stepped."""
        stepped = {step.who for step in self.taken}
        return [self.places[who] for who in self.made.values() if who not in stepped]

    def began_late(self, rounds):
        """Whether an optimizer that is alive steps beside the one that leads and has done so once. One that stepped before the
        leader's first round is of a stage that is over."""
        turns = collections.Counter(step.who for step in self.taken)
        beside = {who for each in rounds for who in each}
        return any(turns[who] == 1 and who in beside for who in self.made.values())

    def ends_one(self, step):
        return self.ends[step.number]

    def lines(self, lines):
        """The lines, with those of steps in the places of Step. A step's peaks are the highest of its parts."""
        self.ends = ends_of([each.who for each in self.taken], self.began)
        number, parts = 0, []
        for line in lines:
            if not isinstance(line, Step):
                yield line
                continue
            parts.append(line)
            if not line.goes_on and self.ends_one(line):
                number += 1
                by_card = type(line.by_card)(
                    (card, [words[0], *map(max, *([*part.by_card[card][1:4]] for part in parts), words[1:4]), *words[4:]])
                    for card, words in line.by_card.items())
                yield "step", number, by_card, line.seconds
                parts = []


def parameters_of(optimizer):
    return {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}


def ends_of(taken, began):
    """`taken`: which optimizers stepped, in their order; `began`: by optimizer, how many steps there were before it."""
    where = {}
    for at, who in enumerate(taken):
        where.setdefault(who, []).append(at)
    ends, start = [False] * len(taken), 0
    while start < len(taken):
        leader = taken[start]
        own = where[leader][bisect.bisect_left(where[leader], start):]
        most = {}
        for first, after in zip(own, own[1:]):
            for who in {*taken[first + 1:after]}:
                most[who] = max(most.get(who, 1), taken[first + 1:after].count(who))
        stop, count = len(taken), {}
        for at in range(own[-1] + 1, len(taken)):
            who = taken[at]
            count.setdefault(who, []).append(at)
            if began[who] > own[0] or len(count[who]) > most.get(who, 1):
                stop = count[who][0]
                break
        for after in (*own[1:], stop):
            ends[after - 1] = True
        start = stop
    return ends
