import subprocess
import sys


def test_a_schedule_needs_no_torch():
    """So that parameters are checked before torch is asked for."""
    code = "import sys, kinhash.training.schedule; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
