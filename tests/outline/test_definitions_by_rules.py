"""Definitions of code, found by rules over the bytes, without a grammar."""

import ast
import re
from pathlib import Path

import pytest

from brimful.outline.outlines import outline
from brimful.outline.structures import read_definitions

SOURCES = {
    "python": '''\
LIMIT = 3
text = """
def not_one(): pass
"""


@cache(
    size=3,
)
class Pot(Base):
    """A pot."""

    @property
    def size(self) -> int:  # def no(): pass
        return (
1
        )

    async def pour(self, cup):
        def inner():
            return "class No:"
        return inner

def last(): return 1
''',
    "c": """\
#include <stdio.h>
#define SIZE 10
#define GUARD
#define MAX(a, b) \\
    ((a) > (b) ? (a) : (b))
typedef unsigned int u32;
typedef struct cup { int size; } cup_t;
typedef int (*pour_fn)(struct cup *);
enum tea { GREEN, BLACK };
static const int table[] = { 1, 2, 3 };
/* Pours. */
static struct cup *
pour(struct cup *c, int (*f)(int))
{
    if (c) { return c; }
    return "}";
}
extern int drink(void);
""",
    "cpp": """\
namespace tea::pot {
template <typename T, typename U = std::vector<T>>
class EXPORT Cup final : public Base<T> {
public:
    Cup(int n) : size_{n}, name("x") { fill(); }
    ~Cup();
    bool operator==(const Cup& other) const { return true; }
    virtual void pour() = 0;
private:
    int size_;
};
using Cups = std::vector<Cup<int>>;
}  // namespace
void tea::pot::Cup<int>::pour() {
    auto f = [](int a) { return a; };
}
""",
    "java": """\
package tea;
import java.util.*;
@Deprecated(since = "{")
public final class Pot<T> extends Base implements A, B {
    static final int SIZE = 3;
    private final Runnable r = new Runnable() {
        public void run() {}
    };
    static { init(); }
    @Override
    @SuppressWarnings({"a", "b"})
    public <X> List<X> pour(Map<String, X> in) throws IOException {
        for (;;) { break; }
    }
    abstract int count();
    enum Kind { GREEN { void a() {} }, BLACK; int get() { return 1; } }
    interface Lid { void open(); }
}
record Cup(int size) {}
""",
    "csharp": """\
using System;
namespace Tea
{
    public class Pot<T> : Base where T : new()
    {
        public const int Size = 3;
        public int Level { get; set; } = 5;
        public string Name => "}";
        [Obsolete("x")]
        public async Task<T> Pour<T>(int n = 1) where T : class
        {
            var s = @"a ""quoted"" {";
        }
        public int Twice(int n) => n * 2;
        public Pot(int n) : base(n) { }
        public int this[int i] { get { return i; } }
    }
    public enum Kind { Green, Black }
    public delegate void Poured(int n);
}
""",
    "kotlin": """\
package tea
@Target("x")
data class Pot(val size: Int) : Base() {
    companion object { const val MAX = 3 }
    override fun pour(cup: Cup): Int = cup.fill()
        .also { println("${it.name("}")}") }
    fun <T> List<T>.second(): T { return this[1] }
}
interface Lid {
    fun open()
}
object Kettle
typealias Cups = List<Cup>
""",
    "swift": """\
@available(iOS 13, *)
public class Pot: Base {
    init(size: Int) { self.size = size }
    func pour<T>(_ cup: T) -> String where T: Cup {
        return "\\(cup.name("}"))"
    }
}
protocol Lid {
    func open() throws
}
extension Pot: Lid {
    func open() {}
}
typealias Cups = [Cup]
""",
    "scala": """\
package tea
case class Pot(size: Int) extends Base {
  def pour(cup: Cup): Int = {
    cup.fill()
  }
  def twice = size *
    2
}
object Pot { val Max = 3 }
trait Lid { def open(): Unit }
""",
    "dart": """\
import 'a.dart';
class Pot extends Base {
  Pot(this.size);
  int pour(Cup cup) {
    return cup.fill('${cup.name}');
  }
  int get level => 1;
}
enum Kind { green, black }
void main() {
  print('x');
}
""",
    "php": """\
<?php
namespace Tea\\Pot;
const SIZE = 3;
#[Attribute]
final class Pot extends Base {
    const MAX = 3;
    public static function &pour(Cup $cup): ?int {
        $f = function () { return "}"; };
        return <<<EOT
function no() {
EOT;
    }
    abstract protected function lid();
}
function drink() {}
""",
    "javascript": """\
import x from "x";
const SIZE = 3;
export const name = `a ${b({c: `}`})} d`;
function pour(cup) {
  return /[{"]/.test(cup) && a / b / c;
}
class Pot extends Base {
  static #level = 1;
  constructor(n) { super(n); }
  get size() { return 1; }
  async *drink({a, b} = {}) {
    if (a) { b(); }
  }
  fill = async (x) => {
    return x;
  };
}
const twice = (n) => n * 2;
exports.lid = function () {};
module.exports = {
  open() { return 1; },
  close: function () {},
};
""",
    "typescript": """\
export interface Lid<T = {}> {
  open(x: T): void;
  close: () => void;
}
export type Cups = Array<Cup> |
  null;
export declare function fill(a: string): void;
@Injectable({ a: 1 })
export abstract class Pot<T extends { a: string }> extends Base<T> implements Lid {
  private pour = <A>(a: A): { b: A } => ({ b: a });
  abstract drink(n: number): Promise<void>;
  public size(): { n: number } {
    return { n: 1 };
  }
}
export const enum Kind { Green }
export const make: { (a: string): Cup } = dual(1);
namespace Tea { export function a() {} }
""",
    "go": """\
package tea

import "fmt"

// Size is a size.
const Size = 3

var (
	a, b = 1, 2
	c    = map[string]int{
		"x": 1,
	}
)

type Pot struct {
	size int
}

type (
	Lid interface {
		Open() error
	}
	Cups []Cup
)

// Pour pours.
func (p *Pot) Pour(cup interface{}) (n int, err error) {
	fmt.Println(`}`)
	return
}
func drink[T any](t T) {}
""",
    "rust": """\
//! Tea.
use std::fmt;
pub const SIZE: usize = { 3 };
#[derive(
    Debug,
)]
pub struct Pot<'a> { size: &'a str }
pub(crate) enum Kind { Green, Black }
/// A lid.
pub trait Lid {
    type Out;
    fn open(&self) -> Self::Out;
}
impl<'a, T: Fn() -> u8> Lid for Pot<'a> where T: Sized {
    fn open(&self) -> u8 { '{'; r#"}"#; 1 }
}
macro_rules! pour { ($a:expr) => { fn no() {} }; }
mod tests {
    #[test]
    async unsafe fn works() {}
}
""",
    "ruby": """\
module Tea
  class Pot < Base
    SIZE = 3
    def pour(cup)
      cup.fill if cup
    rescue Error
      <<~EOS
        def no
      EOS
    end
    def self.make; new; end
    def full? = true
    class << self
      def open; end
    end
  end
end
""",
    "lua": """\
local M = {}
--[[ function no() end ]]
local function pour(cup)
  if cup then
    return "end"
  end
end
function M.drink(self) return 1 end
M.fill = function(a)
  return a
end
""",
    "elixir": '''\
defmodule Tea.Pot do
  @moduledoc """
  def no
  """
  @doc "Pours."
  def pour(cup) when is_map(cup) do
    cup
  rescue
    _ -> nil
  end
  defp twice(n), do: n * 2
  defmacro lid(x) do
    x
  end
end
''',
    "julia": """\
module Tea
const SIZE = 3
struct Pot{T} <: Base
    size::T
end
function pour(cup::Cup)
    if cup
        1
    end
end
twice(x) = 2x
macro lid(x)
    x
end
end
""",
    "bash": """\
#!/bin/bash
pour() {
  case "$1" in
    a) echo "}" ;;
  esac
  cat <<EOF
no() {
EOF
}
function drink
{
  echo 1
}
""",
    "sql": """\
CREATE TABLE IF NOT EXISTS tea.cups (
  id int, -- ; no
  name text DEFAULT ';'
);
create or replace function pour(n int) returns int as $$
begin; return 1; end;
$$ language plpgsql;
CREATE UNIQUE INDEX cups_name ON cups (name);
""",
    "haskell": """\
module Tea (pour) where
import Data.List
data Cup = Cup { size :: Int }
  deriving Show
class Lid a where
  open :: a -> Bool
pour :: Cup -> Int
pour (Cup 0) = 0
pour c
  | size c > 1 = 2
""",
    "ocaml": """\
(* let no = 1 *)
type cup = { size : int }
module Pot = struct
  let pour c =
    let x = 1 in
    x + c
end
let rec drink n = function
| 0 -> n
| _ -> drink 1 n
and fill x = x
exception Empty
""",
    "commonlisp": """\
(defpackage :tea)
(defun pour (cup) ; )
  "Pours (."
  (fill cup #\\())
(defmacro lid (x) x)
(defvar *size* 3)
""",
    "clojure": """\
(ns tea.pot)
(defn pour
  "Pours ("
  [cup] (fill cup \\)))
(def size 3)
""",
    "elisp": """\
(defun tea-pour (cup)
  "Pour (CUP."
  (insert ?\\( ?\\)))
(defcustom tea-size 3 "Size.")
""",
    "scheme": """\
(define (pour cup) (fill cup #\\)))
(define size 3)
""",
    "yaml": """\
name: tea
services: # two
  pot:
    image: x
    steps:
      - run: |
          no: key
  cup: {a: 1}
"quoted": 1
""",
    "toml": '''\
title = "[no]"
[tea.pot]
size = 3
text = """
[no]
"""
[[cups]]
n = 1
''',
    "ini": """\
[pot]
size = 3
# [no]
[cup]
n = 1
""",
    "dockerfile": """\
FROM python:3 AS build
RUN make
FROM scratch
COPY --from=build / /
""",
    "make": """\
CC := gcc
.PHONY: all
all: pot cup
	$(CC) x

pot cup: %.o
	echo "a: b"
define lid
x
endef
""",
    "hcl": """\
resource "aws_pot" "green" {
  size = "${var.x}"
  tags { a = 1 }
}
variable "x" {}
""",
    "proto": """\
syntax = "proto3";
message Pot {
  enum Kind { GREEN = 0; }
  int32 size = 1;
}
service Tea {
  rpc Pour(Pot) returns (Pot);
}
""",
}  # fmt: skip

FOUND = {
    "python": (
        "LIMIT constant 1-1; Pot class 7-22; Pot.size method 13-17; Pot.pour method 19-22; "
        "Pot.pour.inner function 20-21; last function 24-24"
    ),
    "c": (
        "SIZE macro 2-2; MAX macro 4-5; u32 type 6-6; cup_t type 7-7; cup struct 7-7; pour_fn type 8-8; "
        "tea enum 9-9; pour function 12-17; drink function 18-18"
    ),
    "cpp": (
        "tea::pot module 1-13; tea::pot.Cup class 2-11; tea::pot.Cup.Cup method 5-5; "
        "tea::pot.Cup.~Cup method 6-6; tea::pot.Cup.operator== method 7-7; tea::pot.Cup.pour method 8-8; "
        "tea::pot.Cups type 12-12; tea::pot::Cup.pour method 14-16"
    ),
    "java": (
        "Pot class 3-18; Pot.SIZE constant 5-5; Pot.pour method 10-14; Pot.count method 15-15; "
        "Pot.Kind enum 16-16; Pot.Kind.get method 16-16; Pot.Lid interface 17-17; Pot.Lid.open method 17-17; "
        "Cup class 19-19"
    ),
    "csharp": (
        "Tea module 2-20; Tea.Pot class 4-17; Tea.Pot.Size constant 6-6; Tea.Pot.Level property 7-7; "
        "Tea.Pot.Name property 8-8; Tea.Pot.Pour method 9-13; Tea.Pot.Twice method 14-14; "
        "Tea.Pot.Pot method 15-15; Tea.Pot.this property 16-16; Tea.Kind enum 18-18; Tea.Poured type 19-19"
    ),
    "kotlin": (
        "Pot class 2-8; Pot.Companion object 4-4; Pot.pour method 5-6; Pot.second method 7-7; "
        "Lid interface 9-11; Lid.open method 10-10; Kettle object 12-12; Cups type 13-13"
    ),
    "swift": (
        "Pot class 1-7; Pot.init method 3-3; Pot.pour method 4-6; Lid interface 8-10; Lid.open method 9-9; "
        "Pot extension 11-13; Pot.open method 12-12; Cups type 14-14"
    ),
    "scala": ("Pot class 2-8; Pot.pour method 3-5; Pot.twice method 6-7; Pot object 9-9; Lid trait 10-10"),
    "dart": (
        "Pot class 2-8; Pot.Pot method 3-3; Pot.pour method 4-6; Pot.level method 7-7; Kind enum 9-9; "
        "main function 10-12"
    ),
    "php": (
        "Tea\\Pot module 2-2; SIZE constant 3-3; Pot class 4-14; Pot.MAX constant 6-6; Pot.pour method 7-12; "
        "Pot.lid method 13-13; drink function 15-15"
    ),
    "javascript": (
        "SIZE constant 2-2; name constant 3-3; pour function 4-6; Pot class 7-17; "
        "Pot.constructor method 9-9; Pot.size method 10-10; Pot.drink method 11-13; Pot.fill method 14-16; "
        "twice function 18-18; lid function 19-19; open function 21-21; close function 22-22"
    ),
    "typescript": (
        "Lid interface 1-4; Lid.open method 2-2; Cups type 5-6; fill function 7-7; Pot class 8-15; "
        "Pot.pour method 10-10; Pot.drink method 11-11; Pot.size method 12-14; Kind enum 16-16; "
        "make constant 17-17; Tea module 18-18"
    ),
    "go": (
        "Size constant 6-6; a constant 9-9; b constant 9-9; c constant 10-12; Pot struct 15-17; "
        "Lid interface 20-22; Cups type 23-23; Pot.Pour method 27-30; drink function 31-31"
    ),
    "rust": (
        "SIZE constant 3-3; Pot struct 4-7; Kind enum 8-8; Lid trait 10-13; Lid.Out type 11-11; "
        "Lid.open method 12-12; Pot impl 14-16; Pot.open method 15-15; pour macro 17-17; tests module 18-21; "
        "tests.works function 19-20"
    ),
    "ruby": (
        "Tea module 1-17; Tea.Pot class 2-16; Tea.Pot.pour method 4-10; Tea.Pot.self.make method 11-11; "
        "Tea.Pot.full? method 12-12; Tea.Pot.<< self class 13-15; Tea.Pot.<< self.open method 14-14"
    ),
    "lua": ("pour function 3-7; M.drink function 8-8; M.fill function 9-11"),
    "elixir": (
        "Tea.Pot module 1-15; Tea.Pot.pour function 5-10; Tea.Pot.twice function 11-11; Tea.Pot.lid macro 12-14"
    ),
    "julia": (
        "Tea module 1-15; Tea.SIZE constant 2-2; Tea.Pot struct 3-5; Tea.pour function 6-10; "
        "Tea.twice function 11-11; Tea.lid macro 12-14"
    ),
    "bash": ("pour function 2-9; drink function 10-13"),
    "sql": ("cups table 1-4; pour function 5-7; cups_name index 8-8"),
    "haskell": ("Tea module 1-1; Cup struct 3-4; Lid interface 5-6; pour function 7-10"),
    "ocaml": (
        "cup type 2-2; Pot module 3-7; Pot.pour function 4-6; drink function 8-10; fill function 11-11; "
        "Empty type 12-12"
    ),
    "commonlisp": ("tea module 1-1; pour function 2-4; lid macro 5-5; *size* constant 6-6"),
    "clojure": ("tea.pot module 1-1; pour function 2-4; size constant 5-5"),
    "elisp": ("tea-pour function 1-3; tea-size constant 4-4"),
    "scheme": ("pour function 1-1; size constant 2-2"),
    "yaml": ("name key 1-1; services key 2-8; services.pot key 3-7; services.cup key 8-8; quoted key 9-9"),
    "toml": ("tea.pot table 2-6; cups table 7-8"),
    "ini": ("pot table 1-2; cup table 4-5"),
    "dockerfile": ("build stage 1-2; scratch stage 3-4"),
    "make": ("all target 3-4; cup target 6-7; pot target 6-7; lid macro 8-10"),
    "hcl": ("resource.aws_pot.green block 1-4; variable.x block 5-5"),
    "proto": ("Pot struct 2-5; Pot.Kind enum 3-3; Tea interface 6-8; Tea.Pour method 7-7"),
}


def shown(source: str, language: str) -> list[str]:
    """What is found, with lines counted from 1."""
    content = source.encode()

    def line(place: int) -> int:
        return content.count(b"\n", 0, place) + 1

    return [
        f"{found.qualified} {found.kind} {line(found.signature_start)}-{line(found.end - 1)}"
        for found in read_definitions(content, language)
    ]


@pytest.mark.parametrize("language", SOURCES)
def test_definitions_of_a_language(language):
    """Names, kinds, parents and lines of what a source defines; what is quoted, commented or called is none."""
    assert "; ".join(shown(SOURCES[language], language)) == FOUND[language]


def defined_by_ast(tree):
    """Name, first and last line of every function, class and constant in capitals of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, min([node.lineno, *(each.lineno for each in node.decorator_list)]), node.end_lineno
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if re.fullmatch("[A-Z][A-Z0-9_]+", getattr(target, "id", "")):
                yield target.id, node.lineno, node.end_lineno


def test_the_rules_find_what_python_finds_in_our_own_sources():
    """Every definition of this package, by name and by lines, as Python's own parser has them."""
    paths = sorted((Path(__file__).parents[2] / "src").rglob("*.py"))
    assert len(paths) > 100
    for path in paths:
        content = path.read_bytes()
        ours = [
            (each.name, *(content.count(b"\n", 0, at) + 1 for at in (each.signature_start, each.end - 1)))
            for each in read_definitions(content, "python")
        ]
        assert sorted(ours) == sorted(defined_by_ast(ast.parse(content))), path


def test_a_signature_has_its_decorators_and_its_doc():
    """Decorators stand in the signature, a docstring behind it, a comment in front of it."""
    content = SOURCES["python"].encode()
    pot = read_definitions(content, "python")[1]
    assert content[pot.signature_start : pot.signature_end] == b"@cache(\n    size=3,\n)\nclass Pot(Base):"
    assert pot.doc is not None
    assert content[pot.doc[0] : pot.doc[1]] == b'"""A pot."""'
    content = SOURCES["go"].encode()
    pour = next(found for found in read_definitions(content, "go") if found.name == "Pour")
    assert content[pour.start : pour.signature_start] == b"// Pour pours.\n"
    assert pour.doc == (pour.start, pour.signature_start)
    assert content[pour.signature_start : pour.signature_end].endswith(b"(n int, err error)")


def test_a_comment_above_a_blank_line_belongs_to_nothing():
    """Only what stands directly above a definition is its doc comment."""
    content = b"// A licence.\n\n// Pours.\n// Much.\nfunc pour() {}\n"
    (pour,) = read_definitions(content, "go")
    assert content[pour.start :].startswith(b"// Pours.\n// Much.\nfunc")


def test_uneven_branches_of_the_preprocessor_are_read_once():
    """A brace that every branch opens is closed once: what follows is still found."""
    source = "#if A\nint f(int a) {\n#else\nint f(void) {\n#endif\n  return 1;\n}\nint g(void) { return 2; }\n"
    assert shown(source, "c") == ["f function 2-7", "g function 8-8"]
    even = "#ifdef A\nint f(void) { return 1; }\n#else\nint h(void) { return 2; }\n#endif\n"
    assert shown(even, "c") == ["f function 2-2", "h function 4-4"]


def test_bodies_end_the_same_however_deep_they_stand():
    """Twenty functions in each other, and twenty in a row that end one after the other."""
    deep = "".join(f"{' ' * at}def f{at}():\n" for at in range(20)) + " " * 20 + "return 1\n"
    assert shown(deep, "python")[19].endswith("f19 function 20-21")
    falling = deep + "".join(f"{' ' * at}x = 1\n" for at in range(19, -1, -1))
    assert [line.rpartition("-")[2] for line in shown(falling, "python")] == [str(40 - at) for at in range(20)]


def test_a_language_without_rules_has_the_usual_words():
    """Where no rule is known, a line that begins with a usual word defines something."""
    assert shown("sub pour {\n  my $cup;\n}\n", "perl") == ["pour function 1-3"]
    assert [found.name for found in read_definitions(b"def f(): pass", None)] == ["f"]


def test_a_makefile_may_end_with_a_backslash():
    """A line that goes on at the end of a text goes on nowhere."""
    assert [found.name for found in read_definitions(b"all: tea \\", "make")] == ["all"]


def test_what_stands_in_thousands_of_others_is_found_first():
    """Those around a definition are made one after the other, not one within the making of another."""
    code = b"struct s {\n" * 5_000
    found = outline(code, kind="code", language="c").definitions
    assert len(found) > 2_000
    assert found[len(found) - 1].qualified.count(".") == len(found) - 1
    assert found[-1] is found[len(found) - 1]
    with pytest.raises(IndexError):
        found[len(found)]
