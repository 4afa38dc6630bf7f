import type { NodeProcess } from '#test/simulation/simulated/node';
import type { SimulatedProcess } from '#test/simulation/simulated/process';
import type { World } from '#test/simulation/world';

/** Dependencies of a slot. */
export type SlotPorts<Running> = {
  readonly world: World;
  /** Creates the simulated process of the next life. */
  readonly processOf: (name: string) => SimulatedProcess;
  readonly start: (process: SimulatedProcess) => Running;
  /** Called for every disturbance after which peers may suspect the process. */
  readonly onDisturbed: (name: string) => void;
};

/** A place in the cluster for consecutive processes. */
export class ProcessSlot<Running extends NodeProcess = NodeProcess> {
  readonly name: string;
  readonly #ports: SlotPorts<Running>;
  #running: Running | undefined;
  #isStopping = false;

  constructor(name: string, ports: SlotPorts<Running>) {
    this.name = name;
    this.#ports = ports;
  }

  /** Current process. */
  get running(): Running | undefined {
    return this.#running;
  }

  /** Starts a process unless one is running. */
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

  /** SIGKILL; another process starts after `downMs`. */
  kill(downMs: number): void {
    if (this.#running === undefined) return;
    const { world, onDisturbed } = this.#ports;
    onDisturbed(this.name);
    this.#running.process.end();
    world.after(downMs, () => this.start());
  }

  /** SIGTERM; after a clean stop, another process starts after `downMs`. */
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

  /** Pauses the process, or suspends its machine. */
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

  /** Stops the process cleanly and permanently, after any pending restart. */
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
