/** A component with faults to plant, and none if nobody plants them. */

export interface PlantedProps {
  label: string;
  /** The label's colour, on white. */
  color: string;
  /** Whether the input has its label. */
  labelled: boolean;
  count: number;
}

export function Planted(props: PlantedProps) {
  return (
    <div style={{ background: '#fff' }}>
      <p style={{ color: props.color }}>{props.label} {props.count}</p>
      <input type="text" aria-label={props.labelled ? props.label : undefined} />
    </div>
  );
}
