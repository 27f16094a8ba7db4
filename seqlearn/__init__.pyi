from .analysis.attention_map import (
    AttentionMap as AttentionMap,
    stack_layers as stack_layers,
    torch_attention as torch_attention,
)
from .analysis.circuits import (
    PatchExperiment as PatchExperiment,
    keep_only as keep_only,
    logit_lens as logit_lens,
    mean_over_words as mean_over_words,
    value_lengths as value_lengths,
)
from .analysis.edits import (
    ablate as ablate,
    edit_heads as edit_heads,
    in_heads as in_heads,
    permuted as permuted,
    reweighted as reweighted,
    uniform as uniform,
)
from .analysis.measures import (
    choice_accuracy as choice_accuracy,
    hit_rate as hit_rate,
    link_errors as link_errors,
    mean_over_heads as mean_over_heads,
    rollout as rollout,
    source_part as source_part,
)
from .analysis.metrics import (
    alignment_error_rate as alignment_error_rate,
    argmax_links as argmax_links,
    bleu as bleu,
    chrf as chrf,
    perplexity as perplexity,
)
from .analysis.roles import read_roles as read_roles, role_shares as role_shares
from .data.batches import Batches as Batches, pad as pad
from .data.corpus import (
    Corpus as Corpus,
    Split as Split,
    builtin as builtin,
    distinct_sources as distinct_sources,
    fra_eng as fra_eng,
    from_files as from_files,
    from_tsv as from_tsv,
    local_fra_eng as local_fra_eng,
    tatoeba_test as tatoeba_test,
)
from .data.pairs import Antecedent as Antecedent, Pair as Pair
from .data.spelling import normalize as normalize
from .data.text import Language as Language, Vocab as Vocab, WordTokenizer as WordTokenizer
from .nn.config import Setting as Setting
from .nn.contract import EncoderDecoder as EncoderDecoder
from .nn.recording import edit_attention as edit_attention, record_attention as record_attention
from .runtime.d2l_compat import d2l as d2l
from .runtime.devices import best_device as best_device
from .search.beam import beam_search as beam_search
from .search.exhaustive import exhaustive_search as exhaustive_search
from .search.forced_decoding import forced_decoding as forced_decoding
from .search.lengths import gnmt as gnmt, length_average as length_average, no_penalty as no_penalty
from .search.sampling import greedy_search as greedy_search, next_distribution as next_distribution, sample as sample
from .training.history import History as History
from .training.loop import fit as fit
from .training.losses import batch_loss as batch_loss, mean_loss as mean_loss, token_loss as token_loss
from .training.schedules import warmup as warmup
from .translator.models import MODELS as MODELS, ModelSpec as ModelSpec, register as register
from .translator.translator import Translator as Translator
from .translator.whatif import Ablate as Ablate, Patch as Patch, SetWeight as SetWeight, what_if as what_if
from .views.attention.attention_view import AttentionView as AttentionView
from .views.batch.batch_view import BatchView as BatchView
from .views.beam.beam_view import BeamView as BeamView
from .views.beam.chain import chain_search as chain_search
from .views.gru.gru_view import GruView as GruView
from .views.kernel.kernel_view import KernelView as KernelView
from .views.patch.patch_view import PatchView as PatchView
from .views.pieces.pieces_view import PiecesView as PiecesView
from .views.plots import (
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
from .views.position.position_view import PositionView as PositionView
from .views.riddle.riddle_view import RiddleView as RiddleView
from .views.sampling.sampling_view import SamplingView as SamplingView
from .views.softmax.softmax_view import SoftmaxView as SoftmaxView
from .views.steps.steps_view import AttentionSteps as AttentionSteps
from .views.tables import measured as measured, text_table as text_table
from .views.translator.translator_view import TranslatorView as TranslatorView

__version__: str
