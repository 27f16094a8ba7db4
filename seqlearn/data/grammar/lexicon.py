"""The words of the built-in corpus: how they inflect, and which of them go together.

The tables are written to be read. The line above a table names its columns; a cell that says `-` is empty. A noun has
kinds ("fruit", "person"), and verbs and adjectives list the kinds that they fit. Such a list may also name a single noun.
"""

from __future__ import annotations

from typing import NamedTuple


class Noun(NamedTuple):
    """A noun or a name: its singular and plural in both languages ("-" if it has no plural here), gender and kinds."""

    english: tuple[str, str]
    french: tuple[str, str]
    gender: str
    kinds: tuple[str, ...]

    @property
    def single(self) -> bool:
        """Whether it has no plural here: water, the garden, Tom."""
        return self.english[1] == "-"

    @property
    def mass(self) -> bool:
        """Whether it cannot be counted: some water, what good bread. But what a big garden."""
        return self.single and not {"food", "drink"}.isdisjoint(self.kinds)


class Verb(NamedTuple):
    """A verb.

    `english` holds the base form, the third person and the past. `particle` is the "for" of "look for". `present` has
    the six French forms, je to ils; `participle` and `auxiliary` (avoir or être) make the French past. `doers` are the
    kinds of nouns that may be the subject, `objects` the kinds of nouns that may be the object.
    """

    english: tuple[str, str, str]
    particle: str
    present: tuple[str, ...]
    participle: str
    auxiliary: str
    doers: tuple[str, ...]
    objects: tuple[str, ...]

    @property
    def lemma(self) -> str:
        """The English infinitive, with its particle."""
        return f"{self.english[0]} {self.particle}".strip()


class Adjective(NamedTuple):
    """An adjective.

    `comparative` is "more" for "more fragile", and empty if there is none. `french` holds the masculine, the feminine,
    their plurals and, if there is one, the masculine before a vowel. `before` tells whether the adjective precedes the
    noun in French. `attribute_of` are the kinds of nouns that it may accompany (the red apple), `predicate_of` those of
    which it may be said (the apple is red).
    """

    english: str
    comparative: str
    french: tuple[str, ...]
    before: bool
    attribute_of: tuple[str, ...]
    predicate_of: tuple[str, ...]


# gender | kinds | English singular and plural, French singular and plural; ...
_NOUNS = """
m | person grown | man men homme hommes; king kings roi rois
f | person grown lovely | woman women femme femmes; queen queens reine reines
m | person child | boy boys garçon garçons
f | person child lovely | girl girls fille filles
m | person | hero heroes héros héros
f | person family elder | mother - mère -; grandmother - grand-mère -; aunt aunts tante tantes
m | person family elder | father - père -; uncle uncles oncle oncles
f | person family | sister sisters sœur sœurs
m | person family | brother brothers frère frères
m | animal strong pet | dog dogs chien chiens; horse horses cheval chevaux
m | animal little pet | cat cats chat chats; rabbit rabbits lapin lapins
m | animal little | bird birds oiseau oiseaux; owl owls hibou hiboux
f | animal strong pet | cow cows vache vaches; goat goats chèvre chèvres
f | animal little | mouse mice souris souris; hen hens poule poules
f | animal little pet | turtle turtles tortue tortues
f | animal | goose geese oie oies
f | food fruit coloured handy | apple apples pomme pommes; tomato tomatoes tomate tomates
f | food fruit handy | pear pears poire poires; banana bananas banane bananes
f | food fruit handy | orange oranges orange oranges
m | food fruit handy | lemon lemons citron citrons; melon melons melon melons; apricot apricots abricot abricots
f | food dish handy | carrot carrots carotte carottes
m | food dish handy | bean beans haricot haricots; egg eggs œuf œufs; bread - pain -; cheese - fromage -
m | food dish cooked handy | cake cakes gâteau gâteaux
f | food dish cooked warm | soup - soupe -
f | food dish cooked | salad - salade -
f | drink plain warm | water - eau -
m | drink plain warm | milk - lait -
m | drink brewed warm | tea - thé -; coffee - café -
m | thing readable load handy | book books livre livres
f | readable handy loose given | letter letters lettre lettres
m | thing readable handy | newspaper newspapers journal journaux
f | tale | story stories histoire histoires
f | thing coloured container load | box boxes boîte boîtes
m | thing coloured container load | bag bags sac sacs
m | thing container load | basket baskets panier paniers
f | thing washable fragile vessel handy | bottle bottles bouteille bouteilles
f | thing coloured washable fragile vessel handy | cup cups tasse tasses
m | thing washable fragile vessel handy | glass glasses verre verres
f | thing coloured washable fragile handy | plate plates assiette assiettes
f | handy loose given | key keys clé clés
m | thing coloured worn handy | hat hats chapeau chapeaux
f | thing coloured washable worn handy | shirt shirts chemise chemises
m | thing coloured washable worn | coat coats manteau manteaux
f | thing coloured handy | flower flowers fleur fleurs
f | thing load | axe axes hache haches
m | handy loose | bone bones os os
f | vehicle coloured washable | car cars voiture voitures
m | place inside wild | village - village -
m | place inside wild goal | garden - jardin -
m | place inside wild goal gate | park - parc -
m | place inside wild goal gate building | castle - château -
m | place inside goal building | hotel - hôtel -
m | place goal gate | market - marché -
f | place inside wild | house - maison -; kitchen - cuisine -; forest - forêt -
f | place inside goal building | school - école -; church - église -
f | place goal building | station - gare -
f | place goal beside | river - rivière -
m | cover | tree - arbre -
f | cover surface | table - table -
"""

_MEN = "Tom Paul Luc Pierre Louis Marc Antoine Olivier Arthur Nicolas Adam Simon"
_WOMEN = "Marie Anne Julie Sophie Claire Emma Alice Inès Léa Louise Nina Olga"

# English forms | particle | French present and participle, or the stem of a regular verb | auxiliary | doers | objects
_VERBS = """
eat eats ate | - | mange manges mange mangeons mangez mangent mangé | avoir | person animal | food
drink drinks drank | - | bois bois boit buvons buvez boivent bu | avoir | person animal | drink
see sees saw | - | vois vois voit voyons voyez voient vu | avoir | person animal | person animal thing fruit vehicle loose
look looks looked | for | cherch- | avoir | person animal | person animal thing fruit bone
find finds found | - | trouv- | avoir | person animal | animal thing food loose
buy buys bought | - | achète achètes achète achetons achetez achètent acheté | avoir | person | food drink thing pet vehicle
sell sells sold | - | vends vends vend vendons vendez vendent vendu | avoir | person | food thing pet vehicle
read reads read | - | lis lis lit lisons lisez lisent lu | avoir | person | readable tale
write writes wrote | - | écris écris écrit écrivons écrivez écrivent écrit | avoir | person | letter book tale
wash washes washed | - | lav- | avoir | person | washable fruit pet
break breaks broke | - | cass- | avoir | person animal | fragile
open opens opened | - | ouvre ouvres ouvre ouvrons ouvrez ouvrent ouvert | avoir | person | letter box bag bottle book
carry carries carried | - | port- | avoir | person strong | load
lose loses lost | - | perds perds perd perdons perdez perdent perdu | avoir | person | key letter book hat coat bag
hide hides hid | - | cach- | avoir | person animal | key letter book bone fruit egg cake cheese bread hat bottle
take takes took | - | prends prends prend prenons prenez prennent pris | avoir | person animal | thing food loose
prepare prepares prepared | - | prépar- | avoir | person | cooked brewed
follow follows followed | - | suis suis suit suivons suivez suivent suivi | avoir | person animal | person animal
wait waits waited | for | attends attends attend attendons attendez attendent attendu | avoir | person animal | person
watch watches watched | - | regard- | avoir | person animal | person animal
love loves - | - | aim- | avoir | person animal | person pet
give gives gave | - | donn- | avoir | person | -
show shows showed | - | montr- | avoir | person | -
bring brings brought | - | apport- | avoir | person | -
have has - | - | ai as a avons avez ont eu | avoir | person | -
say says said | - | dis dis dit disons dites disent dit | avoir | person | -
think thinks thought | - | pens- | avoir | person | -
sleep sleeps slept | - | dors dors dort dormons dormez dorment dormi | avoir | person animal | -
run runs ran | - | cours cours court courons courez courent couru | avoir | person animal | -
sing sings sang | - | chant- | avoir | person bird | -
dance dances danced | - | dans- | avoir | person | -
cry cries cried | - | pleur- | avoir | person | -
work works worked | - | travaill- | avoir | person | -
stay stays stayed | - | rest- | être | person animal | -
go goes went | - | vais vas va allons allez vont allé | être | person animal | -
come comes came | back | reviens reviens revient revenons revenez reviennent revenu | être | person animal | -
arrive arrives arrived | - | arriv- | être | person animal | -
leave leaves left | - | pars pars part partons partez partent parti | être | person animal | -
fall falls fell | - | tomb- | être | person animal | -
"""

# English and its comparative ("more": more fragile) | French forms, or only the masculine of a regular adjective
# | kinds that it may accompany | kinds of which it may be said.
# The adjectives of the first table precede the noun in French, those of the second table follow the noun.
_BEFORE = """
big bigger | grand | strong bird owl goose thing place vehicle | strong bird owl goose place vehicle container
small smaller | petit | child animal thing fruit place vehicle | animal fruit place vehicle container
beautiful more | beau belle beaux belles bel | lovely animal flower worn place vehicle tree | lovely animal flower worn place
old older | vieux vieille vieux vieilles vieil | grown pet owl bird thing vehicle building tree table | grown pet vehicle castle
young younger | jeune | grown child pet cow | grown child pet cow name
new - | nouveau nouvelle nouveaux nouvelles nouvel | worn key book vehicle hotel school station | -
good better | bon bonne bons bonnes | food drink book tale | food drink book
bad - | mauvais | dish book tale | -
long - | long longue longs longues | letter tale | letter tale
tall taller | grand | - | person tree
"""
_AFTER = """
red - | rouge | coloured | coloured
white - | blanc blanche blancs blanches | worn plate cup cat horse rabbit goat hen goose house | worn plate cup goose
black - | noir | worn bag cat dog horse cow vehicle | worn bag vehicle
green - | vert | coloured | worn vehicle apple tomato
blue - | bleu | worn box bag cup plate flower vehicle | worn box bag cup plate vehicle
grey - | gris | worn cat mouse horse rabbit owl goose | worn mouse
yellow - | jaune | worn flower box bag cup banana lemon | worn flower banana lemon
ripe - | mûr | fruit | fruit
sweet sweeter | sucré | fruit brewed | fruit brewed cake
sour - | acide | orange lemon apricot | orange lemon apricot apple
rotten - | pourri | fruit egg | fruit egg
fresh - | frais fraîche frais fraîches | egg bread salad cheese milk | fruit egg bread salad cheese milk carrot bean water
delicious more | délicieux délicieuse délicieux délicieuses | food drink | food drink
hot - | chaud | warm | warm
cold - | froid | warm | warm
dirty - | sale | washable | washable river
clean - | propre | washable | washable kitchen house hotel
expensive more | cher chère chers chères | worn vehicle hotel | worn vehicle hotel book cheese
heavy heavier | lourd | load | load
light lighter | léger légère légers légères | load | load
empty - | vide | container vessel | container vessel church house park
closed - | fermé | box bottle bag | gate building box bottle bag
fragile more | fragile | fragile | fragile
interesting more | intéressant | readable tale | readable tale
tired - | fatigué | grown child animal | person animal
sick - | malade | grown child animal | person animal
happy happier | heureux heureuse heureux heureuses | child | person
sad - | triste | grown child hero | person
strong stronger | fort | horse | person strong
rich richer | riche | man woman king queen | person
kind - | gentil gentille gentils gentilles | man woman dog | person pet
intelligent more | intelligent | child man woman dog | person pet
famous more | célèbre | man woman king queen hero | grown hero name hotel
"""

# Of the adjectives of one line a thing has only one: no sentence says that the red bag is blue, or is red.
_RIVALS = """
big small tall
old young new
red white black green blue grey yellow
happy sad
"""

# English | French masculine, feminine, plural
DETERMINERS = {
    "the": ("le", "la", "les"),
    "a": ("un", "une", "des"),
    "this": ("ce", "cette", "ces"),
    "my": ("mon", "ma", "mes"),
    "your": ("ton", "ta", "tes"),
    "your (formal)": ("votre", "votre", "vos"),
    "his": ("son", "sa", "ses"),
    "her": ("son", "sa", "ses"),
    "its": ("son", "sa", "ses"),
    "our": ("notre", "notre", "nos"),
    "their": ("leur", "leur", "leurs"),
}
WHAT = ("quel", "quelle", "quels", "quelles")  # masculine, feminine, and their plurals: what a dog!
# The form of a determiner before a vowel: cet arbre, mon école.
BEFORE_VOWEL = {"ce": "cet", "ma": "mon", "ta": "ton", "sa": "son"}
NUMBERS = dict(
    zip(
        "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "twenty thirty forty fifty sixty".split(),
        "deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize "
        "vingt trente quarante cinquante soixante".split(),
        strict=True,
    )
)
STATES = {"hungry": "faim", "thirsty": "soif", "afraid": "peur"}  # in English one is hungry, in French one has hunger
PRESENT = {"avoir": "ai as a avons avez ont".split(), "être": "suis es est sommes êtes sont".split()}
IMPERFECT = {
    "avoir": "avais avais avait avions aviez avaient".split(),
    "être": "étais étais était étions étiez étaient".split(),
}


def starts_with_vowel(word: str) -> bool:
    """Whether le, la, je or que lose their vowel before this French word: l'homme, but le héros."""
    return word[0].lower() in "aâeéêèiîoôœuyh" and not word.startswith(("héros", "hibou", "haricot", "hache"))


def agree(masculine: str, gender: str, plural: bool) -> str:
    """A regular French form: mangé, mangée, mangés, mangées. But pris has no plural s, and triste no feminine e."""
    word = masculine + "e" if gender == "f" and not masculine.endswith("e") else masculine
    return word + "s" if plural and not word.endswith("s") else word


def rows(table: str) -> list[list[tuple[str, ...]]]:
    """A table of text as rows of cells; each cell is a tuple of words."""
    return [[tuple(cell.split()) for cell in line.split("|")] for line in table.strip().splitlines()]


def _fits(noun: Noun, kinds: tuple[str, ...]) -> bool:
    """Whether the noun, or one of its kinds, is in a list of kinds."""
    return noun.english[0] in kinds or any(kind in kinds for kind in noun.kinds)


_Cell = tuple[str, ...]


def _verb(english: _Cell, particle: _Cell, french: _Cell, auxiliary: _Cell, doers: _Cell, objects: _Cell) -> Verb:
    """A verb from a row of the table."""
    if len(french) == 1:  # a regular verb, given by its stem
        stem = french[0].strip("-")
        french = tuple(stem + ending for ending in ("e", "es", "e", "ons", "ez", "ent", "é"))
    base, third_person, past = english
    return Verb((base, third_person, past), particle[0].strip("-"), french[:6], french[6], auxiliary[0], doers, objects)


def _adjective(before: bool, english: _Cell, french: _Cell, attribute_of: _Cell, predicate_of: _Cell) -> Adjective:
    """An adjective from a row of a table."""
    if len(french) == 1:  # a regular adjective, given by its masculine
        french = tuple(agree(french[0], gender, plural) for plural in (False, True) for gender in "mf")
    return Adjective(english[0], english[1].strip("-"), french, before, attribute_of, predicate_of)


NOUNS = tuple(
    Noun((english, plural), (french, french_plural), gender, tuple(kinds.split()))
    for gender, kinds, words in (line.split(" | ") for line in _NOUNS.strip().splitlines())
    for english, plural, french, french_plural in (word.split() for word in words.split(";"))
)
NAMES = tuple(
    Noun((name, "-"), (name, "-"), gender, ("person", "name"))
    for gender, names in (("m", _MEN), ("f", _WOMEN))
    for name in names.split()
)
VERBS = {verb.lemma: verb for verb in (_verb(*row) for row in rows(_VERBS))}
ADJECTIVES = {row[0][0]: _adjective(table is _BEFORE, *row) for table in (_BEFORE, _AFTER) for row in rows(table)}
# For each adjective, those that a noun cannot have beside it; every adjective is among its own rivals.
RIVALS = {word: frozenset({word}) for word in ADJECTIVES}
RIVALS |= {word: frozenset(line.split()) for line in _RIVALS.strip().splitlines() for word in line.split()}
GRADABLE = tuple(word for word, adjective in ADJECTIVES.items() if adjective.comparative)
# Nouns by kind and gender: KINDS["fruit", "m"]. KINDS["fruit", ""] has both genders.
KINDS = {
    (kind, gender): tuple(noun for noun in NOUNS if kind in noun.kinds and gender in ("", noun.gender))
    for kind in sorted({kind for noun in NOUNS for kind in noun.kinds})
    for gender in ("", "m", "f")
}
# The adjectives that may accompany a noun, and those that may be said of a noun or a name.
ATTRIBUTES = {noun: tuple(one for one in ADJECTIVES.values() if _fits(noun, one.attribute_of)) for noun in NOUNS}
PREDICATES = {
    noun: tuple(one for one in ADJECTIVES.values() if _fits(noun, one.predicate_of)) for noun in (*NOUNS, *NAMES)
}


def _objects(doer: str, verb: Verb) -> tuple[Noun, ...]:
    """What a person or an animal does this to. Animals read nothing, buy nothing and drink no tea."""
    if not {doer, "strong" if doer == "animal" else doer} & set(verb.doers):
        return ()
    nouns = tuple(noun for noun in NOUNS if _fits(noun, verb.objects))
    if doer == "person" or verb.lemma in ("break", "carry"):
        return nouns
    return tuple(noun for noun in nouns if _fits(noun, ("food", "plain", "animal", "person", "bone", "key", "hat")))


# The objects of a verb, by who does it: OBJECTS["person", "buy"].
OBJECTS = {(doer, lemma): _objects(doer, verb) for doer in ("person", "animal") for lemma, verb in VERBS.items()}
