"""The exceptions of karakuri. Each is one of Python's own kinds, so that code need not know them."""


class UnknownName(KeyError):
    """There is no such link, joint, sensor, signal, ...; the message lists near names."""

    def __str__(self) -> str:  # KeyError shows the repr, with quotes
        return str(self.args[0]) if self.args else ""


class SceneError(ValueError):
    """All that is wrong with a scene, one line each, with file and line where there is one."""


class BehaviourError(RuntimeError):
    """A behaviour of the scene has failed, with its traceback; the step was not made."""


class UntrustedCode(PermissionError):
    """The scene would run Python code that nobody has vouched for; the message names the files and how to allow them."""
