"""Spoils files of the kernel cache again and again and loads them: python kernels.py 2000 1.

What is not, byte for byte, what this user has written there is not unpickled, not even where its digest is right; one
file in ten is left as it was, and loaded.
"""

from __future__ import annotations

import pickle
import sys
import tempfile
from pathlib import Path

import numpy as np
from mutations import spoil_bytes
from numba.core.registry import cpu_target
from watched import Watched

from dovetail.kernel import files, private
from dovetail.kernel.kernel import _OPTIONS, _Kernel


def twice(x: float) -> float:
    return 2.0 * x


class Forged:
    """What runs code where it is unpickled."""

    ran = False

    def __reduce__(self):
        return _run, ()


def _run() -> tuple[()]:
    Forged.ran = True
    return ()


def main(count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    target = cpu_target.target_context
    with tempfile.TemporaryDirectory() as outside:
        root = Path(outside) / "cache"
        made = _Kernel(twice, {**_OPTIONS, "nopython": True})
        made._cache = files.KernelFiles(twice, root / "kernels-0")
        assert made(4.0) == 8.0
        (signature,) = made.signatures
        _, key = next(made._cache._places(signature, target.codegen()))
        (path,) = root.rglob("*.nbc")
        good, secret = path.read_bytes(), (root / "secret").read_bytes()
        digest = files._digest(key, body := pickle.dumps(Forged()))
        forged = [
            good[:32] + digest + body,  # the seal of another file
            digest + body,  # none
            bytes(32) + digest + body,
            private.hmac.digest(b"", digest, "sha256") + digest + body,  # of a secret that is known
            private.hmac.digest(bytes(32), digest, "sha256") + digest + body,
        ]
        with Watched(Path(outside)) as watched:
            for k in range(count):
                content = spoil_bytes(good, rng)
                if k % 10 == 0:
                    content = good
                elif k % 10 == 1:
                    content = (
                        spoil_bytes(forged[rng.integers(len(forged))], rng) if k % 20 == 1 else forged[k // 10 % 5]
                    )
                path.write_bytes(content)
                if k % 50 == 2:  # another secret, of which this process has not read yet
                    (root / "secret").write_bytes(spoil_bytes(secret, rng))
                    private._secret.cache_clear()
                had = watched.told["taken"]
                found = watched.read(str(k), lambda: made._cache.load_overload(signature, target))
                assert not Forged.ran, f"file {k} was unpickled"
                is_right = content == good and (root / "secret").read_bytes() == secret
                assert (found is not None) == is_right, k
                watched.told["taken"] = had + (found is not None)
                if k % 50 == 2:
                    (root / "secret").write_bytes(secret)
                    private._secret.cache_clear()
            watched.tell()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
