"""The exceptions: each message is one line that says what, where, and what to do."""

LONGEST = 900


class VaecpError(Exception):
    """Base of every error that this library raises on purpose: one line, whatever it quotes."""

    def __init__(self, message: object = "") -> None:
        line = " ".join(str(message).split())
        half = LONGEST // 2
        super().__init__(line if len(line) <= LONGEST else f"{line[:half]} ... {line[-half:]}")


class ObservationError(VaecpError, ValueError):
    """The observed entries, their coordinates or their labels break a rule."""


class LabelTypeError(VaecpError, TypeError):
    """Labels of one mode are of mixed type, or cannot be hashed."""


class FormatError(VaecpError, ValueError):
    """A file is missing, damaged, of the wrong kind, or cannot hold what is asked of it."""


class ModelFileError(VaecpError, ValueError):
    """A model file is damaged, foreign, or of a schema that this version does not read."""


class CheckpointError(VaecpError, ValueError):
    """A checkpoint is damaged, or is that of another fit."""


class ProcessError(VaecpError, RuntimeError):
    """Processes that fit a model together differ, or one of them has ended."""


class DatasetError(VaecpError, RuntimeError):
    """A named dataset is unknown, cannot be reached, or fails its checksum."""


class TrainingError(VaecpError, RuntimeError):
    """Training turned non-finite; the message says when and what to change."""


class PredictionError(VaecpError, ArithmeticError):
    """A prediction is not a finite number: those of the model are too large."""


class MissingExtraError(VaecpError, ImportError):
    """An optional dependency is not installed; the message names the extra."""


class UnsupportedError(VaecpError, TypeError):
    """A method cannot do what is asked of it; the message names those that can."""
