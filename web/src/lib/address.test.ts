import { expect, it } from 'vitest';
import { readAddress } from './address';

it.each([
  ['https://issues.example/oauth?x=1#y', 'issues.example', []],
  ['HTTPS://Issues.Example/', 'issues.example', []],
  ['https://issues.example:443/', 'issues.example', []],
  ['http://issues.example/', 'issues.example', ['not encrypted']],
  ['https://xn--pilothuse-57a.example/', 'xn--pilothuse-57a.example', ['other alphabets']],
  ['https://pil\u043ethouse.example/', 'xn--pilthouse-22h.example', ['other alphabets']],
  ['https://ｇoogle.example/', 'google.example', ['in another way']],
  ['https://bank.example@evil.example/', 'evil.example', ['before the @']],
  ['https://bank.example\\@evil.example/', 'bank.example', []],
  ['https://0x7f.1/', '127.0.0.1', ['in another way', 'a number', 'on this machine']],
  ['https://[::1]:8080/', '[::1]:8080', ['a number', 'on this machine', 'port 8080']],
  ['http://localhost:7457/', 'localhost:7457', ['on this machine', 'port 7457', 'not encrypted']],
  ['https://login.bank.example.account.verify.evil.example/', 'login.bank.example.account.verify.evil.example', ['many parts']],
  ['https://issues.exa\u200bmple/', 'issues.example', ['in another way', 'can’t be seen']],
  ['https://issues.example/\u202egpj.exe', 'issues.example', ['can’t be seen']],
])('%s leads to %s', (text, host, odd) => {
  const address = readAddress(text);
  expect(address?.host).toBe(host);
  expect(address?.odd).toHaveLength(odd.length);
  odd.forEach((words, i) => expect(address?.odd[i]).toContain(words));
});

it.each(['', 'issues.example', 'javascript:alert(1)', 'data:text/html,x', 'file:///etc/passwd', 'ftp://files.example/', 'https://', 'blob:https://issues.example/1'])('%s leads nowhere', (text) => {
  expect(readAddress(text)).toBeUndefined();
});
