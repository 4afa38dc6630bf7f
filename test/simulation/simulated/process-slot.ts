import type { NodeProcess } from '#test/simulation/simulated/node';
import type { SimulatedProcess } from '#test/simulation/simulated/process';
import type { World } from '#test/simulation/world';

/** Dependencies of `ProcessSlot`. */
export type SlotPorts<Running> = {
  readonly world: World;
  /** Creates the next process of the slot. */
  readonly processOf: (name: string) => SimulatedProcess;
  readonly start: (process: SimulatedProcess) => Running;
  /** Called when the process is disturbed. From then on, its peers may suspect the process. */
  readonly onDisturbed: (name: string) => void;
};

/** A name in the cluster with its current process. A restart replaces the process. */
export class ProcessSlot<Running extends NodeProcess = NodeProcess> {
  readonly name: string;
  readonly #ports: SlotPorts<Running>;
  #running: Running | undefined;
  #isStopping = false;

  constructor(name: string, ports: SlotPorts<Running>) {
    this.name = name;
    this.#ports = ports;
  }

  /** Current process; undefined while down. */
  get running(): Running | undefined {
    return this.#running;
  }

  /** Starts a process unless the slot has a running process. */
  start(): void {
    if (this.#running !== undefined) return;
    const { processOf, start } = this.#ports;
    const running = start(processOf(this.name));
    this.#running = running;
    this.#isStopping = false;
    running.process.onDeath(() => {
      if (this.#running === running) this.#running = undefined;
    });
  }

  /** SIGKILL. The next process starts after `downMs`. */
  kill(downMs: number): void {
    if (this.#running === undefined) return;
    const { world, onDisturbed } = this.#ports;
    onDisturbed(this.name);
    this.#running.process.end();
    world.after(downMs, () => this.start());
  }

  /** SIGTERM. The next process starts `downMs` after the clean stop. */
  restart(downMs: number): void {
    const running = this.#running;
    if (running === undefined || this.#isStopping) return;
    const { world, onDisturbed } = this.#ports;
    onDisturbed(this.name);
    this.#isStopping = true;
    running.leave().then(
      () => this.kill(downMs),
      (error: unknown) => world.fail(error),
    );
  }

  /** Pauses the process or suspends its machine, for `forMs`. */
  pause(how: 'stop' | 'suspend', forMs: number): void {
    const process = this.#running?.process;
    if (process === undefined) return;
    const { world, onDisturbed } = this.#ports;
    onDisturbed(this.name);
    process.pause(how);
    world.after(forMs, () => {
      onDisturbed(this.name);
      process.resume();
    });
  }

  /** Waits for a pending restart, then stops the process cleanly. Starts no further process. */
  async stop(): Promise<void> {
    const { world } = this.#ports;
    while (this.#isStopping) await world.sleep(100);
    const running = this.#running;
    if (running === undefined) return;
    this.#isStopping = true;
    await running.leave();
    running.process.end();
  }
}
