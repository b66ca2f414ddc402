"""The values of an event's data, as Column expressions.

For a map of an object's members Spark builds each of them anew, with all that is below it. So the objects are
found level by level, as `data_tree` has them, once an event, however many fields are looked up in them.
"""

from pyspark.sql import Column
from pyspark.sql import functions as fn

from pipelines.data.route.event_values import computed_once
from shared.contracts.matchers import STRING_TAG


def members(text: Column) -> Column:
    """The members of a JSON object by name, parsed; null for any other text."""
    return _object_members(fn.try_parse_json(text))


def field_values(top: Column, tree: Column) -> Column:
    """The tagged texts of all leaves at each field of `data_tree`, by slot.

    Args:
        top: the members of the data.
        tree: as in `schema.SOURCE_ROW`.
    """
    begun = fn.struct(
        outer_objects(top, tree["objects"]).alias("objects"),
        fn.transform(tree["fields"], lambda name: _leaves(_member(top, name))).alias("values"),
    )
    return fn.aggregate(tree["levels"], begun, _further, lambda read: read["values"])


def _further(read: Column, level: Column) -> Column:
    """One level of objects further on."""
    found = fn.transform(level["fields"], lambda field: _leaves(_nodes(read["objects"], field)))
    return fn.struct(
        inner_objects(read["objects"], level["objects"]).alias("objects"),
        fn.concat(read["values"], found).alias("values"),
    )


def outer_objects(top: Column, names: Column) -> Column:
    """For each name the objects at it in the data, several if it is an array of them, as maps of members."""
    return fn.transform(names, lambda name: _objects(_member(top, name)))


def inner_objects(objects: Column, names: Column) -> Column:
    """The same for names in these objects, those of a level of `data_tree`."""
    return fn.transform(names, lambda name: _objects(_nodes(objects, name)))


def _member(top: Column, name: Column) -> Column:
    """The member of this name, if it is there."""
    return fn.array_compact(fn.array(fn.try_element_at(top, name)))


def _nodes(objects: Column, name: Column) -> Column:
    """The members of this name in objects of the level before."""
    return fn.array_compact(
        fn.transform(fn.get(objects, name["of"]), lambda each: fn.try_element_at(each, name["name"]))
    )


def _objects(nodes: Column) -> Column:
    """The objects among nodes and arrays' elements."""
    return fn.array_compact(fn.transform(fn.flatten(fn.transform(nodes, _elements)), _object_members))


def _elements(node: Column) -> Column:
    """The elements of an array; anything else is one by itself."""
    return fn.coalesce(fn.try_variant_get(node, "$", "array<variant>"), fn.array(node))


def _object_members(node: Column) -> Column:
    """The members of an object by name; null for anything else."""
    return fn.try_variant_get(node, "$", "map<string,variant>")


def _leaves(nodes: Column) -> Column:
    """Tagged texts of scalars and of arrays' elements; objects are not leaves."""
    texts = fn.flatten(fn.transform(nodes, lambda node: fn.transform(_elements(node), _tagged)))
    return fn.filter(
        texts, lambda text: ~fn.startswith(text, fn.lit("{")) & ~fn.startswith(text, fn.lit("["))
    )


def _tagged(node: Column) -> Column:
    return computed_once(
        fn.to_json(node),
        lambda json: fn.when(
            fn.startswith(json, fn.lit(STRING_TAG)),
            fn.concat(fn.lit(STRING_TAG), fn.try_variant_get(node, "$", "string")),
        ).otherwise(json),
    )
