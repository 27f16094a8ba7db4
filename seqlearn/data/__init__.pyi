from .batches import Batch as Batch, Batches as Batches, pad as pad
from .corpus import (
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
from .pairs import Antecedent as Antecedent, Link as Link, Pair as Pair
from .spelling import normalize as normalize
from .text import (
    BOS as BOS,
    EOS as EOS,
    PAD as PAD,
    SPECIALS as SPECIALS,
    UNK as UNK,
    BPETokenizer as BPETokenizer,
    Language as Language,
    UnigramTokenizer as UnigramTokenizer,
    Vocab as Vocab,
    WordTokenizer as WordTokenizer,
)
