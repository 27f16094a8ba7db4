from .attention_map import (
    AttentionMap as AttentionMap,
    stack_layers as stack_layers,
    torch_attention as torch_attention,
)
from .circuits import (
    PatchExperiment as PatchExperiment,
    keep_only as keep_only,
    logit_lens as logit_lens,
    mean_over_words as mean_over_words,
    value_lengths as value_lengths,
)
from .edits import (
    ablate as ablate,
    edit_heads as edit_heads,
    in_heads as in_heads,
    permuted as permuted,
    reweighted as reweighted,
    uniform as uniform,
)
from .measures import (
    choice_accuracy as choice_accuracy,
    hit_rate as hit_rate,
    link_errors as link_errors,
    mean_over_heads as mean_over_heads,
    rollout as rollout,
    source_part as source_part,
)
from .metrics import (
    alignment_error_rate as alignment_error_rate,
    argmax_links as argmax_links,
    bleu as bleu,
    chrf as chrf,
    perplexity as perplexity,
)
from .roles import read_roles as read_roles, role_shares as role_shares
