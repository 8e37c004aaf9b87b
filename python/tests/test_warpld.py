"""The module as it is installed: it needs neither a GPU nor anything of NVIDIA's."""

import json
import os
import pathlib
import pickle
import subprocess
import sys

import pytest
import warpld

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"
SAXPY, SCALE = (EXAMPLES / f"{name}.sm_90.cubin" for name in ("saxpy", "scale"))


def test_inputs_of_every_kind():
    expected = warpld.link([SAXPY, SCALE], arch="sm_90").cubin
    assert expected.startswith(b"\x7fELF")
    saxpy, scale = SAXPY.read_bytes(), SCALE.read_bytes()
    for inputs in (
        [str(SAXPY), SCALE],
        [saxpy, bytearray(scale)],
        [memoryview(saxpy), ("scale", scale)],
        iter([("a", saxpy), ("b", memoryview(scale))]),
    ):
        assert warpld.link(inputs, arch="sm_90").cubin == expected


def test_the_command_writes_the_same(tmp_path):
    out = tmp_path / "out.cubin"
    command = [sys.executable, "-m", "warpld", "-arch=sm_90", str(SAXPY), str(SCALE), "-o", str(out)]
    subprocess.run([*command, "--identity=nvlink"], check=True)
    linked = warpld.link([SAXPY, SCALE], arch="sm_90", identity="nvlink")
    # But for the note, which has the command line.
    theirs, ours = warpld.dump(out.read_bytes()), warpld.dump(linked.cubin)
    assert theirs["symbols"] == ours["symbols"]
    assert [s["name"] for s in theirs["sections"]] == [s["name"] for s in ours["sections"]]


def test_report():
    linked = warpld.link([("saxpy", SAXPY.read_bytes()), ("scale", SCALE.read_bytes())], arch="sm_90")
    assert linked.warnings == ()
    (kernel,) = linked.report["kernels"]
    assert kernel["demangled"] == "saxpy(int, float, float const*, float*)"
    assert kernel["registers"] == 24
    assert linked.report["target"]["name"] == "sm_90"
    assert [entry["file"] for entry in linked.report["map"]["inputs"]] == ["saxpy", "scale"]
    assert "is reached from a kernel" in linked.why_live("scale")
    assert "is in the output" in linked.why_dead("scale")
    assert ".text._Z5scalef" in linked.map()
    assert "registers       24" in linked.resources()


def test_no_report_unless_asked_for():
    linked = warpld.link([SAXPY, SCALE], arch="sm_90", report=False)
    assert linked.report is None
    with pytest.raises(warpld.WarpldError, match="no report was asked for"):
        linked.map()


def test_settings():
    linked = warpld.link([SAXPY], arch="sm_90", relocatable=True)
    assert warpld.link([("joined", linked.cubin), SCALE], arch="sm_90").cubin
    none = warpld.link([SAXPY, SCALE], arch="sm_90", kernels_used=["nothing"])
    assert none.report["kernels"] == []
    warpld.link([SAXPY, SCALE], arch="sm_90", cuda_release="13.4", threads=1, ignore_host_info=True)


@pytest.mark.parametrize(
    "settings",
    [{"arch": "sm_XX"}, {"arch": "sm_90", "colour": True}, {"arch": "sm_90", "speed": 3}, {"arch": "sm_90", "cuda_release": "11.8"}],
)
def test_settings_that_there_are_not(settings):
    with pytest.raises(warpld.SettingError):
        warpld.link([SAXPY], **settings)


def test_diagnostics():
    with pytest.raises(warpld.LinkError, match="Undefined reference to '_Z5scalef' in 'saxpy'") as raised:
        warpld.link([("saxpy", SAXPY.read_bytes())], arch="sm_90")
    (diagnostic,) = raised.value.diagnostics
    assert (diagnostic.severity, diagnostic.code) == ("error", "undefined-symbol")
    assert diagnostic.demangled == "scale(float)"
    assert any("referred to by" in note for note in diagnostic.notes)
    copy = pickle.loads(pickle.dumps(raised.value))
    assert copy.diagnostics == raised.value.diagnostics


@pytest.mark.parametrize("data", [b"", b"text", SAXPY.read_bytes()[:1000]], ids=["empty", "text", "cut short"])
def test_damaged_inputs(data):
    with pytest.raises(warpld.LinkError) as raised:
        warpld.link([data], arch="sm_90")
    assert raised.value.diagnostics
    with pytest.raises(warpld.NotACubinError):
        warpld.dump(data)


def test_ptx_needs_a_toolkit():
    ptx = b".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n"
    for settings, expected in (({}, False), ({"cuda_path": pathlib.Path("/nonexistent/toolkit")}, True)):
        with pytest.raises(warpld.LinkError) as raised:
            warpld.link([("a.ptx", ptx)], arch="sm_90", **settings)
        assert ("/nonexistent/toolkit" in str(raised.value)) == expected


def test_missing_file():
    with pytest.raises(FileNotFoundError, match="nowhere") as raised:
        warpld.link(["/nowhere"], arch="sm_90")
    assert raised.value.filename == "/nowhere"
    with pytest.raises(OSError, match="examples"):
        warpld.link([EXAMPLES], arch="sm_90")


@pytest.mark.parametrize("given", [str(SAXPY), SAXPY, SAXPY.read_bytes()], ids=["str", "path", "bytes"])
def test_one_input_is_no_list(given):
    with pytest.raises(TypeError, match="must be a list"):
        warpld.link(given, arch="sm_90")


def test_one_pattern_is_a_list():
    # The kernel's name has an "i".
    linked = warpld.link([SAXPY, SCALE], arch="sm_90", kernels_used="nothing")
    assert linked.report["kernels"] == []


def test_dump_of_a_path():
    assert warpld.dump(SCALE, "scale.cubin") == warpld.dump(SCALE.read_bytes(), "scale.cubin")
    assert warpld.dump(str(SCALE))["file"] == str(SCALE)


def test_dump_is_that_of_the_command():
    dumped = warpld.dump(SCALE.read_bytes(), "scale.cubin")
    output = subprocess.run([sys.executable, "-m", "warpld", "dump", "--json", str(SCALE)], check=True, capture_output=True)
    (theirs,) = json.loads(output.stdout)["files"]
    assert {**theirs, "file": "scale.cubin"} == dumped


def test_version():
    output = subprocess.run([sys.executable, "-m", "warpld", "--version"], check=True, capture_output=True, text=True)
    assert warpld.__version__ in output.stdout


def run(code, **environment):
    """What a program prints: the linker is chosen once in a process."""
    output = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env={**os.environ, **environment}
    )
    return output.stdout.strip()


LINK = f"""
import ctypes
jit = ctypes.CDLL("libnvJitLink.so.13")
handle, options = ctypes.c_void_p(), (ctypes.c_char_p * 1)(b"-arch=sm_90")
results = [jit.nvJitLinkCreate(ctypes.byref(handle), 1, options)]
for name in {str(SAXPY)!r}, {str(SCALE)!r}:
    results.append(jit.nvJitLinkAddFile(handle, 1, name.encode()))
results.append(jit.nvJitLinkComplete(handle))
print(results)
"""


def test_in_place_of_nvjitlink():
    assert run("import warpld; warpld.use_as_nvjitlink(); warpld.use_as_nvjitlink(13)" + LINK) == "[0, 0, 0, 0]"


def test_preloaded():
    assert run(LINK, LD_PRELOAD=str(warpld.nvjitlink_path())) == "[0, 0, 0, 0]"


def test_too_late(tmp_path):
    other = tmp_path / "libnvJitLink.so.13"
    other.write_bytes(warpld.nvjitlink_path().read_bytes())
    code = f"import ctypes, warpld; ctypes.CDLL({str(other)!r})\ntry: warpld.use_as_nvjitlink(13)\nexcept warpld.WarpldError as e: print(e)"
    assert run(code).startswith(f"{other} is loaded already")


def test_cuda_bindings_use_it():
    pytest.importorskip("cuda.bindings")
    code = """
import warpld
path = warpld.use_as_nvjitlink()
from cuda.bindings import nvjitlink
handle = nvjitlink.create(1, ["-arch=sm_90"])
nvjitlink.complete(handle)
maps = open("/proc/self/maps").read()
print({line.split()[-1] for line in maps.splitlines() if "libnvJitLink" in line} == {str(path)})
"""
    assert run(code) == "True"


def test_no_such_major():
    with pytest.raises(warpld.WarpldError):
        warpld.nvjitlink_path(11)
