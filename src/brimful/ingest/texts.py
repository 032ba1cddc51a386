"""How do texts that are no files get into a store?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from posixpath import normpath
from unicodedata import normalize

from brimful.documents.documents import Document, check_path
from brimful.documents.secrets import check_secret
from brimful.documents.skips import Reason, SourceSettings
from brimful.errors import DocumentError
from brimful.store.store import Store, folder_above
from brimful.store.writing import NewDocument


def add_documents(store: Store, documents: Iterable[Document], *, allow: Iterable[Reason] = ()) -> int:
    """Store documents; returns their number. A credential, or the path of a folder's file, is refused."""
    gate, roots = SourceSettings(allow=allow), store.roots()

    def entry(document: Document) -> NewDocument:
        check_secret(document.path, document.content, gate)
        _check_free(store, document.path, roots)
        return NewDocument(document)

    entries = map(entry, documents)
    return store.add(list(entries) if isinstance(documents, Sequence) else entries)


def _check_free(store: Store, path: str, roots: Mapping[str, str]) -> None:
    check_path(path)
    scheme, sign, name = path.rpartition("://")
    normal = scheme + sign + normalize("NFC", normpath(name)).removeprefix("/" if name.startswith("//") else "")
    if path != normal or ".." in name.split("/") or name == ".":
        raise DocumentError(f"{path!r:.200} is not a name in its normal form, such as {normal!r:.200}; rename the text")
    if roots and store.owner(path):  # the sender does not learn the folder
        raise DocumentError(
            f"{path!r} is the document of a file in an added folder; give the text another path, "
            "or change the file and add the folder again"
        )
    folded = {place: normalize("NFC", folder).casefold() for place, folder in roots.items()}
    if folder_above(folded, path.casefold()) is not None:
        raise DocumentError(
            f"{path!r} would be a name in an added folder, which names its own files; give the text another path"
        )
