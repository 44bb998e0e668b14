"""Ways in which a result on disk is spoilt, for tests that have it made again."""

import shutil


def _array(result):
    """Folder of the largest array of a result."""
    return max((path.parent for path in result.rglob("c*") if path.is_file()), key=lambda path: path.name)


def _description_garbled(result):
    text = (result / "zarr.json").read_text()
    (result / "zarr.json").write_text(text.replace('"value"', '"valu"'))


def _description_cut(result):
    data = (result / "zarr.json").read_bytes()
    (result / "zarr.json").write_bytes(data[: len(data) // 2])


def _array_flipped(result):
    chunk = next(path for path in _array(result).iterdir() if path.name != "zarr.json")
    data = bytearray(chunk.read_bytes())
    data[len(data) // 2] ^= 0xFF
    chunk.write_bytes(data)


def _array_deleted(result):
    shutil.rmtree(_array(result))


def _chunk_deleted(result):
    next(path for path in _array(result).iterdir() if path.name != "zarr.json").unlink()


def _array_description_garbled(result):
    (_array(result) / "zarr.json").write_text("[]")


OF_ANY = {"description garbled": _description_garbled, "description cut": _description_cut}
OF_ARRAYS = {
    "array flipped": _array_flipped,
    "array deleted": _array_deleted,
    "chunk deleted": _chunk_deleted,
    "array description garbled": _array_description_garbled,
}
DELETED = {"deleted": shutil.rmtree}
EVERY = {**OF_ANY, **OF_ARRAYS, **DELETED}


def result_folder(run, name, batch=None, content=None, stream="self"):
    """Where a result lies; the layout itself is tested with the store."""
    part = "all-batches" if batch is None else f"batch-{batch:05d}"
    return run / "results" / stream / (content or "probabilities") / part / name
