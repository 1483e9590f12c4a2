import os
import threading

import pytest

from kinhash.index.locks import ForkSafeLock


def test_one_thread_at_a_time_holds_it():
    lock, order = ForkSafeLock(), []

    def second():
        with lock:
            order.append("second")

    with lock:
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.05)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_it_is_released_after_an_error():
    lock = ForkSafeLock()
    with pytest.raises(ValueError, match="inside"), lock:
        raise ValueError("inside")
    with lock:
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_it_is_free_in_a_forked_process_and_still_held_in_the_parent():
    lock = ForkSafeLock()
    with lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if lock._lock.acquire(timeout=30) else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert not lock._lock.acquire(blocking=False)
