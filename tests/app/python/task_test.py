# SPDX-License-Identifier: GPL-3.0-or-later
"""Progress, cancelling and threads."""
import os
import signal
import subprocess
import sys
import threading
import time

import support
from support import SAMPLE, Case, np

import quantscope

TEXT = SAMPLE / "heldout.txt"


def long_work(**settings):
    """Takes minutes if nothing stops it."""
    return quantscope.eval(SAMPLE, ["int2:block=32", "int3:block=32"] * 20, text=TEXT, ctx=256, **settings)


class Tasks(Case):
    def test_progress(self):
        seen = []
        quantscope.eval(SAMPLE, "int4:block=32", text=TEXT, ctx=128, chunks=4, progress=lambda *news: seen.append(news))
        self.assertTrue(seen)
        for done, total, what in seen:
            self.assertTrue(0 <= done and total >= 0 and isinstance(what, str))

    def test_a_callback_that_raises_cancels(self):
        class Enough(Exception):
            pass

        def stop(done, total, what):
            raise Enough(what)

        begin = time.monotonic()
        with self.assertRaises(Enough):
            long_work(progress=stop)
        self.assertLess(time.monotonic() - begin, 60)

    def test_a_cancelled_export_leaves_nothing(self):
        path = support.write_safetensors(
            self.folder / "in.safetensors", {f"w{i}": np.ones((512, 1024), np.float32) for i in range(32)}
        )

        def stop(done, total, what):
            raise StopIteration

        before = sorted(self.folder.iterdir())
        try:
            quantscope.export(path, self.folder / "out.safetensors", "nf4:calib=mse", progress=stop)
            self.fail("it was not cancelled")
        except StopIteration:
            pass
        self.assertEqual(sorted(self.folder.iterdir()), before)

    def test_ctrl_c(self):
        code = (
            "import sys; sys.path.insert(0, 'tests/app/python'); import task_test\n"
            "first = []\n"
            "def tell(*news):\n"
            "    if not first: first.append(print('working', flush=True))\n"
            "try: task_test.long_work(progress=tell)\n"
            "except KeyboardInterrupt: print('stopped')"
        )
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), "working\n")
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.stdout.read(), "stopped\n")

    def test_other_threads_go_on(self):
        counted, working = [0], threading.Event()

        def count():
            while not working.is_set():
                counted[0] += 1
                time.sleep(0.001)

        counter = threading.Thread(target=count)
        counter.start()
        try:
            quantscope.eval(SAMPLE, "int4:block=32", text=TEXT, ctx=128, chunks=4)
        finally:
            working.set()
            counter.join()
        self.assertGreater(counted[0], 5)

    def test_several_threads_at_once(self):
        x = np.random.default_rng(1).standard_normal((64, 256)).astype(np.float32)
        expected = quantscope.quantize(x, "nf4").dequantize().tobytes()
        results = []
        threads = [
            threading.Thread(target=lambda: results.append(quantscope.quantize(x, "nf4").dequantize().tobytes())) for _ in range(8)
        ]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self.assertEqual(results, [expected] * 8)


if __name__ == "__main__":
    os.environ.setdefault("QS_THREADS", "2")
    support.main()
