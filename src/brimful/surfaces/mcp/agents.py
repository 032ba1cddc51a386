"""Write the server into an agent's configuration, and take it out again."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from brimful.errors import FormatError, InputError, choose

_SERVER = "brimful"
"""The name of the server in every configuration."""


class _Agent(NamedTuple):
    """A program that starts MCP servers, and where its configuration lists them."""

    title: str
    file: str
    key: str = "mcpServers"
    is_application: bool = False  # the file lies in the system's folder of application settings, else at home


AGENTS: Mapping[str, _Agent] = {
    "claude": _Agent("Claude Desktop", "Claude/claude_desktop_config.json", is_application=True),
    "claude-code": _Agent("Claude Code", ".claude.json"),
    "cursor": _Agent("Cursor", ".cursor/mcp.json"),
    "gemini": _Agent("Gemini CLI", ".gemini/settings.json"),
    "vscode": _Agent("VS Code", "Code/User/mcp.json", "servers", is_application=True),
    "windsurf": _Agent("Windsurf", ".codeium/windsurf/mcp_config.json"),
}


def configuration_file(agent: _Agent) -> Path:
    """The agent's configuration file on this machine."""
    if not agent.is_application:
        return Path.home() / agent.file
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / agent.file
    variable, folder = ("APPDATA", "AppData/Roaming") if sys.platform == "win32" else ("XDG_CONFIG_HOME", ".config")
    return Path(os.environ.get(variable) or Path.home() / folder) / agent.file


def install(name: str, command: Sequence[str], *, may_replace: Callable[[str], bool]) -> Path | None:
    """Let an agent start the server by a command; returns the file that was written, None if nothing was.

    `may_replace` gets a question before another entry of that name is overwritten.
    """
    agent = AGENTS[choose(name, AGENTS, what="agent")]
    file = configuration_file(agent)
    configuration, servers = _read(agent, file)
    entry = {"command": command[0], "args": list(command[1:])}
    if name == "vscode":  # whose format names the transport
        entry = {"type": "stdio", **entry}
    previous = servers.get(_SERVER)
    if previous == entry:
        return None
    if previous is not None and not may_replace(f"{file} starts {_SERVER!r} by {_shown(previous)}; replace it?"):
        return None
    servers[_SERVER] = entry
    _write(file, configuration)
    return file


def remove(name: str) -> Path | None:
    """Take the server out of an agent's configuration; returns the file that was written, None if it had none."""
    agent = AGENTS[choose(name, AGENTS, what="agent")]
    file = configuration_file(agent)
    configuration, servers = _read(agent, file)
    if servers.pop(_SERVER, None) is None:
        return None
    _write(file, configuration)
    return file


def _read(agent: _Agent, file: Path) -> tuple[dict[str, object], dict[str, object]]:
    """The configuration and the servers in it; changes of the latter are changes of the former."""
    try:
        configuration = json.loads(file.read_text(encoding="utf-8") or "{}") if file.exists() else {}
    except (OSError, ValueError) as error:
        raise FormatError(f"{file} is no JSON ({error}); add the server by hand (docs/mcp.md)") from error
    servers = configuration.setdefault(agent.key, {}) if isinstance(configuration, dict) else None
    if not isinstance(servers, dict):
        raise FormatError(f"{file} is no configuration of {agent.title}: {agent.key!r} must be an object")
    return configuration, servers


def _write(file: Path, configuration: Mapping[str, object]) -> None:
    """Replace the file in one step, so that a full disk leaves the old one."""
    target = file.resolve()  # a link stays a link
    draft = target.with_name(f"{target.name}.brimful")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(configuration, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        if target.exists():
            draft.chmod(target.stat().st_mode)
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InputError(f"{file} can't be written ({error.strerror}); add the server by hand (docs/mcp.md)") from error


def _shown(entry: object) -> str:
    if isinstance(entry, dict) and "command" in entry:
        return repr(" ".join(map(str, [entry["command"], *entry.get("args", ())])))
    return f"{json.dumps(entry):.200}"
