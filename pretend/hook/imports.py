"""Does something when a module has been imported, which may be never."""

import importlib.util
import sys


class Finder:
    """Does something when a module has been imported. Libraries may look for it (find_spec) long before that."""

    def __init__(self, name, then):
        self.name, self.then, self.looking = name, then, False

    def find_spec(self, name, path, target=None):
        if name != self.name or self.looking:
            return None
        self.looking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.looking = False
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def run_and_do(module):
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            run(module)
            self.then(module)
        spec.loader.exec_module = run_and_do
        return spec


def when_imported(name, then):
    if name in sys.modules:
        then(sys.modules[name])
    else:
        sys.meta_path.insert(0, Finder(name, then))
