"""An inference node as a process of its own: `python child.py URL RUN`, for tests that kill it."""

import sys

from common.settings import BusSettings, NodeSettings
from node.inference.service import main
from node.inference.settings import EngineSettings, InferenceSettings

if __name__ == "__main__":
    url, run = sys.argv[1:]
    settings = InferenceSettings(engine=EngineSettings(slots=4, cells=8, new_tokens=16))
    sys.exit(main(settings, NodeSettings(run=run, bus=BusSettings(url=url))))
