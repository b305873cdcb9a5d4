"""The files of a folder in the lake, whichever kind of store that is in."""

from collections.abc import Sequence

from deltalake.exceptions import TableNotFoundError
from deltalake.fs import DeltaStorageHandler
from pyarrow.fs import FileSelector, FileSystem, FileType, PyFileSystem

from strandline.alone.stores.faults import explained
from strandline.alone.stores.tables import storage_options


def below(uri: str) -> Sequence[str]:
    """The paths of all files in a folder, however deep, within it; none where there is none."""
    found = _opened(uri)
    if found is None:
        return ()
    with explained(uri):
        listed = found.get_file_info(FileSelector("", recursive=True, allow_not_found=True))
    return sorted(each.path for each in listed if each.type is FileType.File)


def remove(uri: str, paths: Sequence[str] | None = None) -> None:
    """Deletes files of a folder, all of them where none are named; doing it again finds none."""
    found = _opened(uri)
    if found is None:
        return
    for path in below(uri) if paths is None else paths:
        with explained(uri):
            found.delete_file(path)


def _opened(uri: str) -> FileSystem | None:
    try:
        return PyFileSystem(DeltaStorageHandler(uri, storage_options()))
    except TableNotFoundError:  # which delta-rs says of a local folder that is not there
        return None
