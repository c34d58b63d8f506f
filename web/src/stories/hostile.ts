/** Text as an agent, a tool or a web page might write it to mislead whoever reads it, or to run in their browser. */

export const SCRIPT = '<script>globalThis.pwned = 1</script><img src=x onerror="globalThis.pwned = 1">';
/** Reads as `rm -rf ./build # safe` where direction marks are obeyed. */
export const BIDI = 'rm -rf ~/\u202e efas # dliub/.\u202c';
export const INVISIBLE = 'git\u200bhub.com/\u2066pilothouse\u2069';
export const ANSI = '\u001b[31mred\u001b[0m \u001b]8;;https://evil.example\u0007a link\u001b]8;;\u0007 \u001b[2J\u001b[Hcleared? \u0007\r\nPassword: ';
export const LINK = '[click](javascript:globalThis.pwned=1) ![](https://evil.example/track.png) <iframe src="https://evil.example"></iframe>';
export const LONG_WORD = 'a'.repeat(2_000);
export const ALL = `${SCRIPT} ${BIDI} ${INVISIBLE} ${ANSI} ${LINK}`;

/** Whether something in it ran. */
export const ran = () => 'pwned' in globalThis;
