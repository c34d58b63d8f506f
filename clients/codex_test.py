"""The official Python SDK, which checks every result against the tool's schema."""

import json
import os
import pathlib
import platform
import subprocess
import tempfile
import unittest

from mcp import Client, StdioServerParameters, stdio_client

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = pathlib.Path(os.environ.get("PILOTHOUSE_BIN_DIR", ROOT / "target/debug"))


def codex() -> str:
    """The real Codex: what the environment names, else what `cargo xtask test` installed."""
    named = os.environ.get("PILOTHOUSE_CODEX")
    if named:
        return named
    version = (ROOT / "codex-version.txt").read_text().strip()
    arm = platform.machine() in ("aarch64", "arm64")
    npm, rust = ("arm64", "aarch64") if arm else ("x64", "x86_64")
    package = f"node_modules/@openai/codex-linux-{npm}/vendor/{rust}-unknown-linux-musl/bin/codex"
    return str(ROOT / ".tools/codex" / version / package)


def prompt(*steps) -> str:
    """A prompt that holds what the model will say and do."""
    return f"go\nSCRIPT:{json.dumps(steps)}"


class CodexTest(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.model = subprocess.Popen(
            [PROGRAMS / "scripted-model"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.addCleanup(self.end_model)
        place = json.loads(self.model.stdout.readline())
        home, project = tempfile.TemporaryDirectory(), tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.addCleanup(project.cleanup)
        self.project = pathlib.Path(project.name)
        self.server = StdioServerParameters(
            command=str(PROGRAMS / "pilothouse"),
            args=["mcp"],
            env={
                "PATH": os.environ["PATH"],
                "HOME": place["codexHome"],
                "CODEX_HOME": place["codexHome"],
                "SCRIPTED_KEY": "scripted",
                "PILOTHOUSE_HOME": home.name,
                "PILOTHOUSE_CODEX": codex(),
            },
        )

    def end_model(self):
        self.model.stdin.close()
        self.model.wait()
        self.model.stdout.close()

    async def done(self, tool, **arguments):
        result = await self.client.call_tool(tool, arguments)
        self.assertFalse(result.is_error, result)
        return result.structured_content

    async def poll_until(self, session, name):
        while True:
            found = await self.done(
                "codex_check", action="poll", sessionId=session, waitMs=20_000, maxEvents=100
            )
            if found.get(name):
                return found[name]

    async def main_path(self):
        names = [it.name for it in (await self.client.list_tools()).tools]
        self.assertEqual(names, ["codex", "codex_reply", "codex_session", "codex_check"])
        started = await self.done(
            "codex",
            prompt=prompt([{"cmd": "mkdir -p sub && echo hi > sub/f.txt"}], [{"msg": "finished"}]),
            approvalPolicy="untrusted",
            sandbox="workspace-write",
            cwd=str(self.project),
        )
        session = started["sessionId"]
        action = (await self.poll_until(session, "actions"))[0]
        self.assertEqual(action["kind"], "command")
        answer = {"action": "respond_permission", "sessionId": session, "decision": "accept"}
        await self.done("codex_check", requestId=action["requestId"], **answer)
        result = await self.poll_until(session, "result")
        self.assertEqual((result["status"], result["output"]), ("completed", "finished"))
        self.assertEqual((self.project / "sub/f.txt").read_text(), "hi\n")

        patch = "*** Begin Patch\n*** Add File: hello.txt\n+hello\n*** End Patch\n"
        replied = await self.done(
            "codex_reply",
            sessionId=session,
            prompt=prompt([{"patch": patch}], [{"msg": "patched"}]),
            wait=True,
        )
        change = replied["actions"][0]
        self.assertIn("+hello", change["diff"])
        answer["decision"] = "decline"
        await self.done("codex_check", requestId=change["requestId"], **answer)
        self.assertEqual((await self.poll_until(session, "result"))["output"], "patched")
        self.assertFalse((self.project / "hello.txt").exists())

        late = await self.client.call_tool(
            "codex_check", {"requestId": change["requestId"], **answer}
        )
        self.assertTrue(late.is_error)
        self.assertEqual(late.structured_content["error"]["code"], "ALREADY_SETTLED")

    async def test_the_main_path_as_clients_of_today_take_it(self):
        async with Client(stdio_client(self.server)) as self.client:
            await self.main_path()

    async def test_the_main_path_as_clients_of_old_took_it(self):
        async with Client(stdio_client(self.server), mode="legacy") as self.client:
            await self.main_path()


if __name__ == "__main__":
    unittest.main()
