"""Training: losses, the loop, learning-rate schedules, checkpoints.

    from seqlearn.training import fit, warmup
    history = fit(model, train, valid, epochs=4, lr=2e-3, schedule=warmup(0.1))

`loop` is the module to read first.
"""

from .checkpoints import Checkpoints as Checkpoints, Stopped as Stopped
from .history import History as History
from .loop import fit as fit
from .losses import batch_loss as batch_loss, mean_loss as mean_loss, token_loss as token_loss
from .schedules import (
    SCHEDULES as SCHEDULES,
    Schedule as Schedule,
    constant as constant,
    cosine_decay as cosine_decay,
    inverse_sqrt as inverse_sqrt,
    linear_decay as linear_decay,
    make_schedule as make_schedule,
    warmup as warmup,
)
from .storage import load_weights as load_weights, save_weights as save_weights
