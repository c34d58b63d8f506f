/** What play functions do over and over. */

import { expect, userEvent, waitFor, within } from 'storybook/test';

/** A decision's button waits for a moment after the page moved; this waits with it. */
export async function press(canvas: HTMLElement, name: RegExp | string): Promise<void> {
  const button = await within(canvas).findByRole('button', { name });
  await waitFor(() => expect(button).not.toHaveAttribute('aria-disabled'), { timeout: 3000 });
  await userEvent.click(button);
}

/** Something was given back exactly once, and exactly this. */
export async function calledOnce(callback: unknown, ...values: unknown[]): Promise<void> {
  await expect(callback).toHaveBeenCalledTimes(1);
  await expect(callback).toHaveBeenCalledWith(...values);
}
