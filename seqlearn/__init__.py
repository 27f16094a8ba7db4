"""seqlearn: attention, from a padded batch to a Transformer, in code that you can read, run and look inside.

    from seqlearn import Translator, TranslatorView
    translator = Translator.pretrained("transformer")
    translator.translate("The cat sleeps.", beam=4)
    TranslatorView(translator)

The names that most users need can be imported from here; each is loaded when somebody asks for it. Import every other
name from its room: `from seqlearn.nn import AdditiveAttention`. CONTRIBUTING.md has a map of the rooms.
`seqlearn.nn.contract` shows how to search a model of your own, `seqlearn.analysis.attention_map` how to show the
attention of any model, and `seqlearn.translator.models` how to add a model to the command line.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
