from .models import MODELS as MODELS, ModelSpec as ModelSpec, register as register
from .scores import Scores as Scores
from .translator import Translator as Translator
from .whatif import Ablate as Ablate, Patch as Patch, SetWeight as SetWeight, what_if as what_if

DEFAULT_BEAM: int
