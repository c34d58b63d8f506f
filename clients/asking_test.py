"""The official Python SDK as a client whose person is asked, in both eras."""

import os
import pathlib
import tempfile
import unittest

from mcp import Client, StdioServerParameters, stdio_client
from mcp.types import ElicitResult

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = pathlib.Path(os.environ.get("PILOTHOUSE_BIN_DIR", ROOT / "target/debug"))

COLOUR = {
    "message": "Paint the shed?",
    "questions": [
        {
            "id": "colour",
            "header": "Colour",
            "question": "Which colour?",
            "options": [
                {"id": "red", "label": "Red", "description": "As it was."},
                {"id": "blue", "label": "Blue", "description": "As the door is."},
            ],
        }
    ],
}


class AskingTest(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        self.server = StdioServerParameters(
            command=str(PROGRAMS / "pilothouse"),
            args=["mcp", "--tools", "choice,form"],
            env={"PATH": os.environ["PATH"], "PILOTHOUSE_HOME": home.name},
        )

    async def choose(self, mode, answer):
        asked = []

        async def callback(_context, params):
            asked.append(params)
            return answer

        options = {} if mode is None else {"mode": mode}
        async with Client(
            stdio_client(self.server), elicitation_callback=callback, **options
        ) as client:
            names = [it.name for it in (await client.list_tools()).tools]
            self.assertEqual(names, ["request_choice", "request_form"])
            result = await client.call_tool("request_choice", COLOUR)
            self.assertFalse(result.is_error, result)
            return asked, result.structured_content

    async def test_a_person_chooses(self):
        for mode in (None, "legacy"):
            answer = ElicitResult(action="accept", content={"q1": "blue"})
            asked, result = await self.choose(mode, answer)
            self.assertEqual(len(asked), 1)
            self.assertEqual(result["action"], "accept")
            self.assertEqual(result["answers"][0]["selectedId"], "blue")

    async def test_what_does_not_fit_is_asked_once_more_and_is_no_answer(self):
        for mode in (None, "legacy"):
            answer = ElicitResult(action="accept", content={"q1": 3})
            asked, result = await self.choose(mode, answer)
            self.assertEqual(len(asked), 2)
            self.assertEqual(result["action"], "pending")

    async def test_a_no_that_comes_at_once_is_no_persons(self):
        for mode in (None, "legacy"):
            asked, result = await self.choose(mode, ElicitResult(action="cancel"))
            self.assertEqual(len(asked), 1)
            self.assertEqual(result["action"], "pending")
            self.assertTrue(result["where"])


if __name__ == "__main__":
    unittest.main()
