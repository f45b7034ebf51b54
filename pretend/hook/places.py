"""Lines of the script's Python that runs: file, line, function."""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


class Places:
    def __init__(self, torch):
        self.folder_of_torch = os.path.dirname(torch.__file__) + os.sep

    def place(self):
        """The innermost line that is neither PyTorch's nor ours."""
        return next(self.lines_of_python(), ("", 0, ""))

    def own_place(self):
        """The innermost line of the user's own; where there is none, the innermost that is not PyTorch's."""
        first = None
        for place in self.lines_of_python():
            if not _is_of_library(place[0]):
                return place
            first = first or place
        return first or ("", 0, "")

    def lines_of_python(self):
        frame = sys._getframe(1)
        while frame is not None:
            name = frame.f_code.co_filename
            if os.path.dirname(name) != _HERE and not name.startswith(self.folder_of_torch) and not name.startswith("<"):
                yield name, frame.f_lineno, frame.f_code.co_name
            frame = frame.f_back

    def only_printed(self):
        """Whether what is read now is to be printed: that decides nothing."""
        frame = sys._getframe(1)
        while frame is not None:
            code = frame.f_code
            if code.co_name in ("_str", "__format__") and code.co_filename.startswith(self.folder_of_torch):
                return True
            frame = frame.f_back
        return False


def _is_of_library(file):
    """As pretend/recording/moment.h has it."""
    return "-packages/" in file or "/lib/python3" in file or "/torchinductor_" in file
