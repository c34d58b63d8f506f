/** A web address that someone else chose: what it really is, and what about it should make a person look twice. */

import { hiddenIn } from './display';

export interface Address {
  /** Exactly what is opened. */
  href: string;
  /** Where that is, with the port if it is an unusual one. */
  host: string;
  /** What is odd about it, in sentences. */
  odd: string[];
}

const WEB = new Set(['http:', 'https:']);
const LABELS = 5;

/** Reads an address; nothing if it is none of the web. */
export function readAddress(text: string): Address | undefined {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return undefined;
  }
  if (!WEB.has(url.protocol) || url.host === '') return undefined;
  const odd: string[] = [];
  const name = url.hostname;
  // What a browser reads as another host than the eye does.
  const written = hostAsWritten(text);
  if (name.split('.').some((it) => it.startsWith('xn--'))) odd.push('The name holds letters of other alphabets, which may look like ones that you know.');
  else if (written !== undefined && written !== name) odd.push('The name is written in another way than the browser reads it.');
  if (url.username || url.password) odd.push('What stands before the @ is not where it leads: it is a user’s name.');
  if (/^[\d.]+$/.test(name) || name.startsWith('[')) odd.push('It is a number, not a name.');
  if (name === 'localhost' || name.endsWith('.localhost') || /^127\./.test(name) || name === '[::1]') odd.push('It leads to a program on this machine.');
  if (url.port) odd.push(`It uses the port ${url.port}, which is unusual for the web.`);
  if (name.split('.').length > LABELS) odd.push('The name has many parts; its end says whose it is.');
  if (url.protocol === 'http:') odd.push('This page is not encrypted.');
  if (hiddenIn(text).length > 0) odd.push('It holds characters that can’t be seen.');
  return { href: url.href, host: url.host, odd };
}

/** The host as it stands in the text, in small letters. */
function hostAsWritten(text: string): string | undefined {
  const authority = /^\s*https?:[/\\]*([^/?#\\]*)/i.exec(text)?.[1];
  return authority?.slice(authority.lastIndexOf('@') + 1).replace(/:\d*$/, '').toLowerCase();
}
