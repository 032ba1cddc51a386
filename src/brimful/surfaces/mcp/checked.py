"""What does a model get that called a tool wrongly? A message that names the value and the remedy.

Errors are results with `isError`, as the protocol wants them: the model reads `code: message` and calls again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent
from pydantic import ValidationError

from brimful.errors import BrimfulError, ChoiceError, InputError, SettingError, suggest

_SHOWN = 60  # characters of a value that is refused


def refusal(code: str, message: str) -> CallToolResult:
    """An error that the model reads."""
    return CallToolResult(content=[TextContent(type="text", text=f"{code}: {message}")], is_error=True)


class CheckedTool(Tool):
    """A tool that takes no argument it does not know, and says of each one what is wrong with it."""

    async def run(self, arguments: dict[str, Any], context: Context[Any, Any], convert_result: bool = False) -> Any:  # noqa: FBT001, FBT002
        """Run it; whatever the caller can correct is a result, anything else is left to the server."""
        try:
            self._check_names(arguments)
            return await super().run(arguments, context, convert_result)
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                return refusal(SettingError.code, "; ".join(self._faults(cause)))
            if isinstance(cause, BrimfulError):
                return refusal(cause.code, str(cause))
            raise
        except InputError as error:
            return refusal(error.code, str(error))

    def _check_names(self, arguments: dict[str, Any]) -> None:
        known = list(self.parameters["properties"])
        for name in arguments:
            if name not in known:
                raise ChoiceError(
                    f"{self.name} has no argument {name!r:.60}; {suggest(name, known)}arguments: {', '.join(known)}"
                )

    def _faults(self, error: ValidationError) -> Iterator[str]:
        for each in error.errors(include_url=False, include_context=False):
            name = str(each["loc"][0]) if each["loc"] else self.name
            if each["type"] == "missing":
                yield f"{name} is missing; {self.parameters['properties'][name].get('description', 'give it')}"
                continue
            value = repr(each["input"])
            shown = value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…"
            choices = self.parameters["properties"].get(name, {}).get("enum", ())
            yield f"{name} is {shown}; {suggest(str(each['input'])[:_SHOWN], choices)}{each['msg']}"


def make_tool(function: Any, **about: Any) -> CheckedTool:
    """A tool from a method; its input schema says that there are no other arguments."""
    tool = CheckedTool.from_function(function, **about)
    assert isinstance(tool, CheckedTool)
    tool.parameters["additionalProperties"] = False
    return tool
