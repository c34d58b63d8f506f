/** A component whose property changed its type since it was recorded. */

export interface ChangedProps {
  count: string;
}

export function Changed(props: ChangedProps) {
  return <p>{props.count}</p>;
}
