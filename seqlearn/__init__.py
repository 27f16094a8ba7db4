"""seqlearn: attention, from a padded batch to a Transformer, in code that you can read, run and look inside.

    from seqlearn import Translator, TranslatorView
    translator = Translator.pretrained("transformer")
    translator.translate("The cat sleeps.", beam=4)
    TranslatorView(translator)

The names that most users need can be imported from here; each is loaded when somebody asks for it. Import every other
name from its module: `from seqlearn.nn.attention import AdditiveAttention`. CONTRIBUTING.md has a map of the modules.
`seqlearn.nn.contract` shows how to search a model of your own, `seqlearn.attention_map` how to show the attention of
any model, and `seqlearn.models` how to add a model to the command line.
"""

from typing import TYPE_CHECKING

from .front_door import front_door

if TYPE_CHECKING:
    from .attention_map import AttentionMap, torch_attention
    from .data.batches import Batches
    from .data.corpus import Corpus, builtin, fra_eng, from_files, from_tsv
    from .decoding import average, beam_search, exhaustive_search, gnmt, greedy_search, no_penalty, sample
    from .models import MODELS, ModelSpec, Setting, register
    from .nn.contract import EncoderDecoder
    from .nn.recording import edit_attention, record_attention
    from .training.history import History
    from .training.loop import fit
    from .translator import Translator
    from .views import (
        AttentionSteps,
        AttentionView,
        BeamView,
        KernelView,
        PositionView,
        TranslatorView,
        all_heads,
        heatmap,
    )

__version__ = "0.1.0"

__all__ = [
    "MODELS", "AttentionMap", "AttentionSteps", "AttentionView", "Batches", "BeamView", "Corpus", "EncoderDecoder",
    "History", "KernelView", "ModelSpec", "PositionView", "Setting", "Translator", "TranslatorView", "all_heads",
    "average", "beam_search", "builtin", "edit_attention", "exhaustive_search", "fit", "fra_eng", "from_files",
    "from_tsv", "gnmt", "greedy_search", "heatmap", "no_penalty", "record_attention", "register", "sample",
    "torch_attention",
]  # fmt: skip

__getattr__, __dir__ = front_door(
    __name__,
    {
        ".attention_map": "AttentionMap torch_attention",
        ".data.batches": "Batches",
        ".data.corpus": "Corpus builtin fra_eng from_files from_tsv",
        ".decoding": "average beam_search exhaustive_search gnmt greedy_search no_penalty sample",
        ".models": "MODELS ModelSpec Setting register",
        ".nn.contract": "EncoderDecoder",
        ".nn.recording": "edit_attention record_attention",
        ".training.loop": "History fit",
        ".translator": "Translator",
        ".views": "AttentionSteps AttentionView BeamView KernelView PositionView TranslatorView all_heads heatmap",
    },
)
