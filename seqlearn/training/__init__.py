"""Training: losses, the loop, learning-rate schedules, a curriculum, checkpoints.

from seqlearn.training import fit, warmup

history = fit(model, train, valid, epochs=4, lr=2e-3, schedule=warmup(0.1))
"""

from .checkpoints import Checkpoints, Stopped
from .curriculum import Curriculum, Stage
from .history import History
from .loop import fit
from .losses import batch_loss, mean_loss, token_loss
from .schedules import (
    SCHEDULES,
    Schedule,
    constant,
    cosine_decay,
    inverse_sqrt,
    linear_decay,
    make_schedule,
    warmup,
)
from .storage import load_weights, save_weights

__all__ = [
    "SCHEDULES",
    "Checkpoints",
    "Curriculum",
    "History",
    "Schedule",
    "Stage",
    "Stopped",
    "batch_loss",
    "constant",
    "cosine_decay",
    "fit",
    "inverse_sqrt",
    "linear_decay",
    "load_weights",
    "make_schedule",
    "mean_loss",
    "save_weights",
    "token_loss",
    "warmup",
]
