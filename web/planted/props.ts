/** What is recorded of the planted components. */

export const PLANTED: Record<string, Record<string, string>> = {
  Planted: { label: 'string', color: 'string', labelled: 'boolean', count: 'number' },
  Changed: { count: 'number' },
};
