"""What people clicked: logs, the bias of places, judging rankings from a log, interleaving."""

from podium.clicks.asking import *
from podium.clicks.bias import *
from podium.clicks.click_models import *
from podium.clicks.comparing.compare import *
from podium.clicks.interleaving import *
from podium.clicks.judged import *
from podium.clicks.judging import *
from podium.clicks.judgment import *
from podium.clicks.outcomes import *
from podium.clicks.planning import *
from podium.clicks.position_bias import *
from podium.clicks.questions import *
from podium.clicks.simulation import *
from podium.clicks.trust_bias import *
from podium.core.rooms import public_names

__all__ = public_names(__name__)
