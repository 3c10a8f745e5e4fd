#!/usr/bin/env python3
"""Reads a file of BSON.jl and lists what Julia would make of it, one value a line: its path, its type, what it is.

Written from the description of the format, without the library, to check what the library writes. Every byte must be
accounted for, and every member of a NamedTuple must have the type that is declared for it: Julia converts to that type,
and fails where it cannot.
"""

import struct
import sys

SIZES = {"Float64": 8, "Float32": 4, "Float16": 2, "BFloat16": 2, "Int64": 8, "Int32": 4, "Int16": 2, "Int8": 1,
         "UInt8": 1, "Bool": 1}


def parse(data, start, is_list):
    (length,) = struct.unpack_from("<i", data, start)
    end = start + length
    assert length >= 5 and end <= len(data) and data[end - 1] == 0, f"length at {start}"
    place, found = start + 4, []
    while place < end - 1:
        kind = data[place]
        stop = data.index(0, place + 1)
        key = data[place + 1:stop].decode("utf-8")
        place = stop + 1
        if kind == 0x01:
            (value,) = struct.unpack_from("<d", data, place)
            place += 8
        elif kind == 0x02:
            (size,) = struct.unpack_from("<i", data, place)
            assert data[place + 3 + size] == 0
            value = data[place + 4:place + 3 + size].decode("utf-8")
            place += 4 + size
        elif kind in (0x03, 0x04):
            value, place = parse(data, place, kind == 0x04)
        elif kind == 0x05:
            (size,) = struct.unpack_from("<i", data, place)
            assert data[place + 4] == 0 and size >= 0
            value = data[place + 5:place + 5 + size]
            place += 5 + size
        elif kind == 0x08:
            value = {0: False, 1: True}[data[place]]
            place += 1
        elif kind == 0x0A:
            value = None
        elif kind == 0x12:
            (value,) = struct.unpack_from("<q", data, place)
            place += 8
        else:
            raise ValueError(f"element type {kind:#x} at {place}")
        found.append((key, value))
    assert place == end - 1, f"the document at {start} ends at {place}, not {end - 1}"
    keys = [key for key, _ in found]
    if is_list:
        assert keys == [str(i) for i in range(len(keys))], keys
        return [value for _, value in found], end
    assert len(set(keys)) == len(keys), keys
    return dict(found), end


def declared(type_document):
    """The text of a type: Tuple{Array{Float32, 2}, Nothing}."""
    assert set(type_document) == {"tag", "name", "params"} and type_document["tag"] == "datatype"
    module, name = type_document["name"]
    assert module == "Core"
    params = []
    for parameter in type_document["params"]:
        if isinstance(parameter, int):
            params.append(str(parameter))
        elif parameter["tag"] == "tuple":
            params.append("(" + "".join(":" + symbol["name"] + ", " for symbol in parameter["data"]) + ")")
        else:
            params.append(declared(parameter))
    return name + ("{" + ", ".join(params) + "}" if params or name == "Tuple" else "")


class Reader:
    def __init__(self, shared):
        self.shared = shared

    def type_of(self, value):
        """The type of a value, from the value."""
        plain = {type(None): "Nothing", bool: "Bool", int: "Int64", float: "Float64", str: "String"}
        if type(value) in plain:
            return plain[type(value)]
        if value["tag"] == "backref":
            return self.type_of(self.shared[value["ref"] - 1])
        if value["tag"] == "symbol":
            return "Symbol"
        if value["tag"] == "array":
            return "Array{" + declared(value["type"]) + ", " + str(len(value["size"])) + "}"
        if value["tag"] == "tuple":
            return "Tuple{" + ", ".join(self.type_of(each) for each in value["data"]) + "}"
        names = [symbol["name"] for symbol in value["type"]["params"][0]["data"]]
        assert len(names) == len(set(names)) == len(value["data"])
        return ("NamedTuple{(" + "".join(":" + name + ", " for name in names) + "), Tuple{" +
                ", ".join(self.type_of(each) for each in value["data"]) + "}}")

    def show(self, path, value):
        if not isinstance(value, dict):
            print(path, self.type_of(value), repr(value))
        elif value["tag"] == "backref":
            print(path, "is the shared value", value["ref"])
        elif value["tag"] == "symbol":
            assert set(value) == {"tag", "name"}
            print(path, "Symbol", repr(value["name"]))
        elif value["tag"] == "array":
            self.show_array(path, value)
        elif value["tag"] == "tuple":
            assert set(value) == {"tag", "data"}
            print(path, self.type_of(value))
            for number, each in enumerate(value["data"]):
                self.show(f"{path}[{number}]", each)
        else:
            assert set(value) == {"tag", "type", "data"} and value["tag"] == "struct", value.keys()
            assert declared(value["type"]) == self.type_of(value), (declared(value["type"]), self.type_of(value))
            print(path, self.type_of(value))
            for symbol, each in zip(value["type"]["params"][0]["data"], value["data"]):
                self.show(f"{path}.{symbol['name']}", each)

    def show_array(self, path, value):
        assert set(value) == {"tag", "type", "size", "data"}
        count = 1
        for size in value["size"]:
            count *= size
        name = value["type"]["name"][1]
        assert declared(value["type"]) == name and len(value["data"]) == count * SIZES[name]
        print(path, name, value["size"], value["data"].hex())


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    whole, end = parse(data, 0, False)
    assert end == len(data)
    shared = whole.pop("_backrefs", [])
    reader = Reader(shared)
    for number, value in enumerate(shared, start=1):
        reader.show(f"shared value {number}:", value)
    for name, value in whole.items():
        reader.show(name, value)


if __name__ == "__main__":
    main()
