from .attention.attention_view import AttentionView as AttentionView
from .batch.batch_view import BatchView as BatchView
from .beam.beam_view import BeamView as BeamView
from .beam.chain import chain_search as chain_search
from .gru.gru_view import GruView as GruView
from .kernel.kernel_view import KernelView as KernelView
from .patch.patch_view import PatchView as PatchView
from .pieces.pieces_view import PiecesView as PiecesView
from .plots import (
    MASKED as MASKED,
    OPEN as OPEN,
    LivePlot as LivePlot,
    all_heads as all_heads,
    bars as bars,
    diagram as diagram,
    grid as grid,
    head_shares as head_shares,
    heatmap as heatmap,
    length_histogram as length_histogram,
    loss_curves as loss_curves,
    number_ticks as number_ticks,
    quality_by_length as quality_by_length,
    share_by_length as share_by_length,
)
from .position.position_view import PositionView as PositionView
from .predictions import my_lessons as my_lessons, my_predictions as my_predictions
from .riddle.riddle_view import RiddleView as RiddleView
from .sampling.sampling_view import SamplingView as SamplingView
from .softmax.softmax_view import SoftmaxView as SoftmaxView
from .steps.steps_view import AttentionSteps as AttentionSteps
from .tables import measured as measured, text_table as text_table
from .translator.translator_view import TranslatorView as TranslatorView
from .view import View as View
