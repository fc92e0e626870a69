# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes files as somebody who knows their formats would: lengths, offsets, counts, depths and numbers, with the checksums around them made
right. `mutate(data, kind, random)` returns the changed bytes. A file that cannot be parsed is changed byte by byte."""
import io
import json
import struct
import warnings
import zipfile

warnings.simplefilter("ignore")  # names that an archive has twice are meant

NUMBERS = [0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 255, 256, 4095, 65535, 65536, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53,
           2**62, 2**63 - 1, 2**63, 2**64 - 1, -1, -2, -2**31, -2**63]
FLOATS = [0.0, -0.0, 1.0, -1.0, 1e-320, 1e-45, 1e38, 3.5e38, 1e308, -1e308, float("inf"), float("-inf"), float("nan")]
WORDS = ["", "x", ".", "..", "../x", "/etc/passwd", "a" * 300, "\u0000", "\n\x1b[31m", "\ufeff", "é\U0001f600", "F32", "BF16", "F8_E4M3", "I64", "U8", "F4",
         "BOOL", "nf4:block=64", "int8", "q4_k", "(", "(a+)+$", ".*", "model.safetensors", "config.json", "-1", "1e999", "true", "null"]


def crc32c(data, table=[]):
    if not table:
        for n in range(256):
            for _ in range(8):
                n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
            table.append(n)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def number(random, near=None):
    """A number that a reader may stumble over; often one beside the number that was there."""
    if near is not None and random.random() < 0.4:
        return random.choice([near + 1, near - 1, near * 2, near // 2, -near, near + 8, near ^ 1 << random.randrange(8)])
    return random.choice(NUMBERS)


def put(data, at, size, value):
    return data[:at] + (value & (1 << 8 * size) - 1).to_bytes(size, "little") + data[at + size:]


# Any bytes

def bytes_changed(data, random):
    for _ in range(random.choice([1, 1, 1, 2, 3, 8])):
        if not data:
            return bytes(random.randrange(256) for _ in range(random.randrange(64)))
        at = random.randrange(len(data)) if random.random() < 0.4 else random.randrange(min(len(data), 512))
        how = random.randrange(9)
        size = random.choice([1, 2, 4, 8])
        if how == 0:
            data = put(data, at, 1, data[at] ^ 1 << random.randrange(8))
        elif how <= 4:
            at -= at % size
            at = max(0, min(at, len(data) - size))
            data = put(data, at, size, number(random, int.from_bytes(data[at:at + size], "little")))
        elif how == 5:
            data = data[:at]
        elif how == 6:
            end = at + random.randrange(1, 64)
            data = data[:at] + data[end:]
        elif how == 7:
            end = at + random.randrange(1, 64)
            data = data[:end] + data[at:end] * random.choice([1, 2, 20]) + data[end:]
        else:
            value = random.choice([b"<d", b"<f"]).decode()
            size = struct.calcsize(value)
            try:
                data = data[:at] + struct.pack(value, random.choice(FLOATS)) + data[at + size:]
            except OverflowError:
                data = data[:at] + struct.pack("<d", float("nan")) + data[at + 8:]
    return data


# JSON

class Pairs(list):
    """An object as a list of its keys and values, so that keys may stand twice."""


def json_text(value):
    if isinstance(value, Pairs):
        return "{" + ",".join(json.dumps(key) + ":" + json_text(item) for key, item in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(json_text(item) for item in value) + "]"
    if isinstance(value, Raw):
        return value.text
    return json.dumps(value)


class Raw:
    def __init__(self, text):
        self.text = text


def places(value, out):
    """All (container, index) in a tree."""
    items = enumerate(value) if isinstance(value, list) else ()
    for i, item in items:
        out.append((value, i))
        if isinstance(value, Pairs):
            places(item[1], out)
        else:
            places(item, out)
    return out


def json_value(old, random, others):
    how = random.randrange(12)
    if how == 0:
        return random.choice(WORDS)
    if how == 1:
        return number(random)
    if how == 2:
        return Raw(random.choice(["1e999", "-1e999", "1e-999", "0.1", "1.5e3", "-0", "123456789012345678901234567890", "NaN", "tru", "\"\\ud800\""]))
    if how == 3:
        return random.choice([None, True, False, [], Pairs()])
    if how == 4:
        depth = random.choice([3, 70, 600, 20000])
        return Raw("[" * depth + "]" * depth) if random.random() < 0.7 else Raw('{"a":' * depth + "0" + "}" * depth)
    if how == 5 and others:
        container, i = random.choice(others)
        return container[i][1] if isinstance(container, Pairs) else container[i]
    if how == 6 and isinstance(old, list) and not isinstance(old, Pairs):
        return old * random.choice([2, 3, 40])
    if how == 7 and isinstance(old, list):
        return type(old)(old[1:])
    if isinstance(old, bool):
        return not old
    if isinstance(old, int):
        return number(random, old)
    if isinstance(old, float):
        return Raw(repr(random.choice(FLOATS)).replace("inf", "1e999").replace("nan", "null"))
    if isinstance(old, str):
        if random.random() < 0.5 and others:
            texts = [c[i][1] if isinstance(c, Pairs) else c[i] for c, i in random.sample(others, min(40, len(others)))]
            texts = [text for text in texts if isinstance(text, str)]
            if texts:
                return random.choice(texts)
        return random.choice([old + "x", old[:-1], old * 3, random.choice(WORDS)])
    return number(random)


def json_tree_changed(tree, random):
    others = places(tree, [])
    if not others:
        return random.choice([tree, 0, [], Pairs([("a", 1)])])
    for _ in range(random.choice([1, 1, 1, 2, 4])):
        container, i = random.choice(others)
        if i >= len(container):
            continue
        if not isinstance(container, Pairs):
            container[i] = json_value(container[i], random, others)
            continue
        key, value = container[i]
        how = random.randrange(10)
        if how == 0:
            del container[i]
        elif how == 1:
            container.append((key, json_value(value, random, others)))
        elif how == 2:
            container[i] = (random.choice(WORDS + [key + "x", key[:-1]]), value)
        else:
            container[i] = (key, json_value(value, random, others))
    return tree


def json_changed(data, random):
    if random.random() < 0.1:
        return bytes_changed(data, random)
    tree = json.loads(data.decode("utf-8"), object_pairs_hook=Pairs)
    return json_text(json_tree_changed(tree, random)).encode("utf-8", "surrogatepass")


# Formats of weights

def safetensors_changed(data, random):
    size = int.from_bytes(data[:8], "little")
    header, rest = data[8:8 + size], data[8 + size:]
    header = json_changed(header, random) if random.random() < 0.8 else header
    if random.random() < 0.3:
        rest = bytes_changed(rest, random)
    length = len(header) if random.random() < 0.9 else number(random, len(header))
    return (length & 2**64 - 1).to_bytes(8, "little") + header + rest


GGUF_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


def gguf_fields(data):
    """(offset, size) of every count, length, type, dimension and offset, and of every value that is a number."""
    out, at = [], 4

    def take(size):
        nonlocal at
        out.append((at, size))
        at += size
        return int.from_bytes(data[at - size:at], "little")

    def text():
        nonlocal at
        size = take(8)
        at += size

    def value(kind):
        nonlocal at
        if kind == 8:
            text()
        elif kind == 9:
            inner, count = take(4), take(8)
            if inner in (8, 9):
                for i in range(count):
                    value(inner)
            else:
                if count:
                    out.append((at, GGUF_SIZES[inner]))
                at += count * GGUF_SIZES[inner]
        else:
            take(GGUF_SIZES[kind])

    take(4)
    tensors, keys = take(8), take(8)
    for _ in range(keys):
        text()
        value(take(4))
    for _ in range(tensors):
        text()
        for _ in range(take(4)):
            take(8)
        take(4)
        take(8)
    return out


def fields_changed(data, fields, random):
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        at, size = random.choice(fields)
        data = put(data, at, size, number(random, int.from_bytes(data[at:at + size], "little")))
    return data


def gguf_changed(data, random):
    if random.random() < 0.2:
        return bytes_changed(data, random)
    fields = gguf_fields(data)
    return fields_changed(data, fields[:3] + fields[-40:] if random.random() < 0.4 else fields, random)


def npy_changed(data, random):
    wide = data[6] > 1
    begin = 12 if wide else 10
    size = int.from_bytes(data[8:begin], "little")
    header, rest = data[begin:begin + size].decode("latin-1"), data[begin + size:]
    how = random.randrange(6)
    digits = [i for i, c in enumerate(header) if c.isdigit()]
    if how <= 2 and digits:
        at = random.choice(digits)
        end = at
        while end < len(header) and header[end].isdigit():
            end += 1
        header = header[:at] + str(number(random, int(header[at:end]))) + header[end:]
    elif how == 3:
        header = header.replace("<f", random.choice(["<f", ">f", "|O", "<c", "<U", "|V", "<i", "<M8[ns]", "=f"]))
    elif how == 4:
        at = random.randrange(len(header))
        header = header[:at] + random.choice(["(", ")", ",", "'", "{", "}", ":", "[" * 5000, "True", "\n"]) + header[at:]
    else:
        rest = bytes_changed(rest, random)
    text = header.encode("latin-1", "replace")
    size = len(text) if random.random() < 0.8 else number(random, len(text))
    return data[:8] + (size & (2**32 - 1 if wide else 65535)).to_bytes(begin - 8, "little") + text + rest


def zip_changed(data, random, inner):
    """A member changed and packed again with its checksum right, or the records of the archive changed."""
    if random.random() < 0.3:
        end = data.rfind(b"PK\x05\x06")
        starts = [i for i in range(len(data)) if data[i:i + 2] == b"PK" and data[i + 2] in (1, 3, 5, 6)]
        at = random.choice(starts) if random.random() < 0.6 else end
        size = random.choice([1, 2, 2, 4, 4, 8])
        at = max(0, min(at + random.randrange(4, 46), len(data) - size))
        return put(data, at, size, number(random, int.from_bytes(data[at:at + size], "little")))
    archive = zipfile.ZipFile(io.BytesIO(data))
    members = [(info, archive.read(info)) for info in archive.infolist()]
    chosen = random.randrange(len(members))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as packed:
        for i, (info, content) in enumerate(members):
            name = info.filename
            if i == chosen:
                how = random.randrange(12)
                if how == 0:
                    continue
                if how == 1:
                    name = random.choice(WORDS[1:8] + [name + "x", "../" + name])
                else:
                    content = inner(name, content)
            try:
                packed.writestr(zipfile.ZipInfo(name), content,
                                zipfile.ZIP_DEFLATED if random.random() < 0.1 else info.compress_type)
                if random.random() < 0.02:
                    packed.writestr(zipfile.ZipInfo(name), content)
            except (ValueError, UnicodeError):
                pass
    return out.getvalue()


def pickle_changed(data, random):
    """Opcodes, numbers and texts of a pickle."""
    data = bytearray(data)
    for _ in range(random.choice([1, 1, 2, 4])):
        at = random.randrange(2, len(data))
        how = random.randrange(6)
        if how == 0:
            data[at] = random.choice(b"(.0123FIJKMLNPQRSTUVX]a}bcdeghilopqrst\x80\x81\x82\x85\x86\x87\x88\x89\x8a\x8c\x8d\x93\x94\x95")
        elif how == 1:
            data[at:at] = random.choice([b"(", b"]", b"}", b"t", b"q\x00", b"h\x00", b"2", b"0", b"(" * 5000, b"R", b"K\x05", b"J\xff\xff\xff\x7f",
                                         b"\x8a\x08" + b"\xff" * 8, b"\x8b\xff\xff\xff\x7f"])
        elif how == 2:
            del data[at:at + random.randrange(1, 5)]
        elif how == 3:
            data[at] = random.randrange(256)
        elif how == 4:
            end = min(len(data), at + random.randrange(1, 40))
            data[at:at] = data[at:end] * random.choice([1, 3, 100])
        else:
            numbers = [i for i in range(len(data) - 5) if data[i] in b"KMJ"]
            if numbers:
                at = random.choice(numbers)
                size = {75: 1, 77: 2, 74: 4}[data[at]]
                value = number(random, int.from_bytes(data[at + 1:at + 1 + size], "little"))
                data[at + 1:at + 1 + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")
    return bytes(data)


# Protocol buffers: ONNX, SentencePiece

def varint(value):
    value &= 2**64 - 1
    out = bytearray()
    while value >= 128:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise ValueError


def proto_fields(data):
    out, at = [], 0
    while at < len(data):
        key, at = read_varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = read_varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = data[at:at + size], at + size
        elif kind == 2:
            size, at = read_varint(data, at)
            value, at = data[at:at + size], at + size
            if len(value) != size:
                raise ValueError
        else:
            raise ValueError
        if key >> 3 == 0 or at > len(data):
            raise ValueError
        out.append([key >> 3, kind, value])
    return out


def proto_text(fields):
    out = b""
    for field, kind, value in fields:
        out += varint(field << 3 | kind)
        if kind == 0:
            out += varint(value)
        elif kind == 2:
            out += varint(len(value)) + value
        else:
            out += value
    return out


def proto_changed(data, random, depth=0):
    """A field, at any depth; the lengths around it are made right."""
    try:
        fields = proto_fields(data)
    except (ValueError, IndexError):
        return bytes_changed(data, random)
    if not fields or depth > 6:
        return bytes_changed(data, random)
    one = random.choice(fields)
    how = random.randrange(10)
    if one[1] == 2 and how < 7 and one[2]:
        one[2] = proto_changed(one[2], random, depth + 1)
    elif how == 7:
        fields.remove(one)
    elif how == 8:
        fields.extend([list(one)] * random.choice([1, 3, 100]))
    elif one[1] == 0:
        one[2] = number(random, one[2])
    elif one[1] == 2:
        one[2] = random.choice([b"", bytes_changed(one[2], random), one[2] * 2, random.choice(WORDS).encode("utf-8", "replace")])
    else:
        one[2] = bytes_changed(one[2], random)[:len(one[2])].ljust(len(one[2]), b"\0")
    if random.random() < 0.05:
        one[0] = number(random, one[0]) % 2**29 or 1
    return proto_text(fields)


# Our own

def records_changed(data, random):
    """Values in records, whose checksums are made right."""
    size = int.from_bytes(data[8:16], "little")
    header, at, records = data[16:16 + size], 16 + size, []
    while at + 44 <= len(data):
        hashed, length = data[at:at + 32], int.from_bytes(data[at + 32:at + 40], "little")
        records.append((hashed, data[at + 44:at + 44 + length]))
        at += 44 + length
    if random.random() < 0.1:
        header = json_changed(header, random)
    chosen = random.randrange(len(records)) if records else -1
    out = b""
    for i, (hashed, payload) in enumerate(records):
        if i == chosen or random.random() < 0.05:
            payload = record_changed(payload, random)
        if random.random() < 0.03:
            hashed, payload = hashed, random.choice(records)[1]
        length = len(payload).to_bytes(8, "little")
        if random.random() < 0.97:
            out += hashed + length + crc32c(length + payload).to_bytes(4, "little") + payload
    return data[:8] + len(header).to_bytes(8, "little") + header + out


def record_changed(payload, random):
    for _ in range(random.choice([1, 1, 2, 3])):
        if not payload:
            return payload
        at = random.randrange(len(payload))
        how = random.randrange(8)
        if how <= 4:
            size = random.choice([1, 4, 8, 8])
            at = min(at, max(0, len(payload) - size))
            payload = put(payload, at, size, number(random, int.from_bytes(payload[at:at + size], "little")))[:len(payload)]
        elif how == 5:
            at = min(at, max(0, len(payload) - 8))
            payload = (payload[:at] + struct.pack("<d", random.choice(FLOATS)) + payload[at + 8:])[:len(payload)]
        elif how == 6:
            # a list that is shorter or longer, with its count made right
            at = random.choice([i for i in range(0, max(1, len(payload) - 8))][:64])
            count = int.from_bytes(payload[at:at + 8], "little")
            payload = put(payload, at, 8, max(0, min(count, 64) + random.choice([-1, 1])))
        else:
            payload = bytes_changed(payload, random)
    return payload


def runs_changed(data, random):
    """Lines of figures of finished runs, with their checksums."""
    lines = data.decode("ascii").splitlines()
    for _ in range(random.choice([1, 2, 5])):
        i = random.randrange(len(lines))
        words = lines[i].split(" ")[:-1]
        how = random.randrange(4)
        if how == 0 and len(words) > 2:
            del words[random.randrange(1, len(words))]
        elif how == 1:
            words.append("%016x" % (number(random) & 2**64 - 1))
        elif len(words) > 1:
            at = random.randrange(1, len(words))
            value = random.choice([number(random) & 2**64 - 1, struct.unpack("<Q", struct.pack("<d", random.choice(FLOATS)))[0],
                                   struct.unpack("<Q", struct.pack("<d", float(number(random))))[0]])
            words[at] = "%016x" % value
        line = " ".join(words)
        lines[i] = line + " %08x" % crc32c(line.encode())
    return ("\n".join(lines) + "\n").encode()


def ocdbt_changed(data, random):
    """A manifest or a node, with its checksum right."""
    body = bytes_changed(data[:-4], random)
    if random.random() < 0.8 and len(body) >= 12:
        body = body[:4] + (len(body) + 4).to_bytes(8, "little") + body[12:]
    return body + crc32c(body).to_bytes(4, "little")


def words32_changed(data, random):
    """Flatbuffers and other files of numbers of 32 bits."""
    for _ in range(random.choice([1, 1, 2, 4])):
        at = random.randrange(max(1, len(data) // 4)) * 4
        size = random.choice([2, 4, 4, 4])
        at = min(at, max(0, len(data) - size))
        near = int.from_bytes(data[at:at + size], "little")
        data = put(data, at, size, number(random, near) if random.random() < 0.7 else near + random.choice([-16, -8, -4, 4, 8, 16]))
    return data


def zip_of(inner):
    return lambda data, random: zip_changed(data, random, lambda name, content: inner(name, content, random))


def torch_member(name, content, random):
    return pickle_changed(content, random) if name.endswith(".pkl") else bytes_changed(content, random)


def npz_member(name, content, random):
    return npy_changed(content, random)


def keras_member(name, content, random):
    return json_changed(content, random) if name.endswith(".json") else bytes_changed(content, random)


KINDS = {
    "bytes": bytes_changed, "json": json_changed, "safetensors": safetensors_changed, "gguf": gguf_changed, "npy": npy_changed,
    "npz": zip_of(npz_member), "torch": zip_of(torch_member), "keras": zip_of(keras_member), "proto": proto_changed,
    "records": records_changed, "runs": runs_changed, "ocdbt": ocdbt_changed, "words32": words32_changed, "pickle": pickle_changed,
}


def mutate(data, kind, random):
    try:
        return KINDS[kind](data, random)
    except (ValueError, IndexError, KeyError, AttributeError, TypeError, OverflowError, RecursionError, struct.error, zipfile.BadZipFile):
        return bytes_changed(data, random)
