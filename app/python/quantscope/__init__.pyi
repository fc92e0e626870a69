# SPDX-License-Identifier: GPL-3.0-or-later
from os import PathLike
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
import pandas
import polars
from numpy.typing import NDArray

__version__: str

Progress = Optional[Callable[[float, float, str], Any]]
Path = Union[str, PathLike[str]]
Texts = Union[None, str, Iterable[str]]
Paths = Union[None, Path, Iterable[Path]]
Import = Union[Path, Tuple[Path, str], Tuple[Path, str, Optional[float]]]
Imports = Union[None, Import, Iterable[Import]]
Cell = Union[None, bool, int, float, str]

class Error(ValueError):
    path: Optional[str]
    works: List[str]

class Column(NamedTuple):
    id: str
    title: str
    unit: str
    tip: str
    better: int

class Plot:
    title: str
    svg: str
    def __init__(self, title: str, svg: str) -> None: ...
    def _repr_svg_(self) -> str: ...

class Rows(List[Dict[str, Cell]]):
    shown: int
    columns: Tuple[Column, ...]
    summary: str
    more: Dict[str, "Rows"]
    recipe: Optional[str]
    def column(self, id: str) -> List[Cell]: ...
    def to_pandas(self) -> pandas.DataFrame: ...
    def to_polars(self) -> polars.DataFrame: ...
    def plots(self, *, progress: Progress = ...) -> List[Plot]: ...
    def plot(self, index: int = ..., *, progress: Progress = ...) -> Plot: ...
    def save(self, path: Path, *, force: bool = ..., progress: Progress = ...) -> None: ...
    def _repr_html_(self) -> str: ...

class Tensor:
    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> Tuple[int, ...]: ...
    @property
    def elements(self) -> int: ...
    @property
    def bytes(self) -> int: ...
    def numpy(self) -> NDArray[Any]: ...
    def float32(self, *, progress: Progress = ...) -> NDArray[np.float32]: ...
    def raw(self) -> NDArray[np.uint8]: ...
    def __array__(self, dtype: Any = ..., copy: Optional[bool] = ...) -> NDArray[Any]: ...
    def __len__(self) -> int: ...

class Model:
    @property
    def path(self) -> str: ...
    @property
    def format(self) -> str: ...
    @property
    def warnings(self) -> List[str]: ...
    @property
    def tensors(self) -> List[Tensor]: ...
    def decoded(self, *, progress: Progress = ...) -> "Model": ...
    def keys(self) -> List[str]: ...
    def __getitem__(self, name: str) -> Tensor: ...
    def __contains__(self, name: str) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...

class Quantized:
    @property
    def spec(self) -> str: ...
    @property
    def spec_full(self) -> str: ...
    @property
    def shape(self) -> Tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def codes(self) -> Optional[NDArray[np.uint8]]: ...
    @property
    def scales(self) -> Optional[NDArray[np.float32]]: ...
    @property
    def zero_points(self) -> Optional[NDArray[np.float32]]: ...
    @property
    def biases(self) -> Optional[NDArray[np.float32]]: ...
    @property
    def levels(self) -> Optional[NDArray[np.float32]]: ...
    @property
    def bytes(self) -> int: ...
    @property
    def bpw(self) -> float: ...
    @property
    def warnings(self) -> List[str]: ...
    def dequantize(self, *, progress: Progress = ...) -> NDArray[np.float32]: ...

AnyModel = Union[Path, Model]

def open(path: Path, *, progress: Progress = ...) -> Model: ...
def inspect(model: AnyModel) -> Rows: ...
def formats() -> List[Dict[str, Union[str, int]]]: ...
def quantize(array: Any, spec: str, *, name: str = ..., progress: Progress = ...) -> Quantized: ...
def analyze(
    model: AnyModel,
    specs: Texts,
    tensors: Texts = ...,
    *,
    decoded: str = ...,
    activations: Optional[Path] = ...,
    solver: Optional[str] = ...,
    evidence: Paths = ...,
    progress: Progress = ...,
) -> Rows: ...
def sweep(
    model: AnyModel,
    specs: Texts = ...,
    tensors: Texts = ...,
    *,
    blocks: Optional[Iterable[int]] = ...,
    decoded: str = ...,
    progress: Progress = ...,
) -> Rows: ...
def audit(model: AnyModel, *, fail_on: Texts = ..., progress: Progress = ...) -> Rows: ...
def diff(
    a: AnyModel, b: AnyModel, tensors: Texts = ..., *, changed: bool = ..., progress: Progress = ...
) -> Rows: ...
def eval(
    model: AnyModel,
    specs: Texts = ...,
    *,
    text: Optional[Path] = ...,
    tokens: Optional[Path] = ...,
    ctx: int = ...,
    chunks: int = ...,
    recipe: Paths = ...,
    against: Union[None, AnyModel, Sequence[AnyModel]] = ...,
    scored: str = ...,
    memory: Optional[str] = ...,
    floor: bool = ...,
    imports: Imports = ...,
    backend: Optional[str] = ...,
    plugin: Optional[Path] = ...,
    variant: Optional[str] = ...,
    act: Optional[str] = ...,
    progress: Progress = ...,
) -> Rows: ...
def sensitivity(
    model: AnyModel,
    specs: Texts = ...,
    *,
    text: Optional[Path] = ...,
    tokens: Optional[Path] = ...,
    ctx: int = ...,
    chunks: int = ...,
    how: Texts = ...,
    by: str = ...,
    tensors: Texts = ...,
    until: float = ...,
    cache: Optional[Path] = ...,
    memory: Optional[str] = ...,
    imports: Imports = ...,
    progress: Progress = ...,
) -> Rows: ...
def plan(
    model: AnyModel,
    specs: Texts = ...,
    budget: Texts = ...,
    *,
    by: Optional[str] = ...,
    recipe: Paths = ...,
    layout: Optional[str] = ...,
    tensors: Texts = ...,
    lock: Texts = ...,
    skip: Texts = ...,
    at_least: Texts = ...,
    at_most: Texts = ...,
    group: Texts = ...,
    text: Optional[Path] = ...,
    tokens: Optional[Path] = ...,
    ctx: int = ...,
    chunks: int = ...,
    null: int = ...,
    null_chunks: int = ...,
    progress: Progress = ...,
) -> Rows: ...
def export(
    model: AnyModel,
    output: Path,
    specs: Texts = ...,
    *,
    recipe: Optional[Path] = ...,
    layout: Optional[str] = ...,
    tensors: Texts = ...,
    skip_refused: bool = ...,
    copy_all: bool = ...,
    force: bool = ...,
    allow_missing: bool = ...,
    solver: Optional[str] = ...,
    activations: Optional[Path] = ...,
    progress: Progress = ...,
) -> Rows: ...
def verify(
    original: AnyModel,
    exported: Optional[AnyModel] = ...,
    *,
    certificate: Optional[Path] = ...,
    fail_on: Texts = ...,
    progress: Progress = ...,
) -> Rows: ...
