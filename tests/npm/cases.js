// Runs the cases of one client library and prints a line of JSON for each: its name, and what went wrong if anything did.
import assert from 'node:assert/strict';
import { createConnection } from 'node:net';

// patienceMs bounds a case, and every wait in it. It is long, since what ends well costs only what it takes.
const patienceMs = 20_000;

// run runs the cases one after the other, each on an empty server.
export async function run(port, cases) {
	for (const [name, run] of Object.entries(cases)) {
		const result = { name };
		const closing = [];
		let alarm;
		try {
			await raw(port, ['FLUSHALL']);
			const expired = new Promise((_, reject) => {
				alarm = setTimeout(() => reject(new Error(`took more than ${patienceMs} ms`)), patienceMs);
			});
			await Promise.race([run((close) => closing.push(close)), expired]);
		} catch (error) {
			result.error = String(error?.stack ?? error);
		}
		clearTimeout(alarm);
		for (const close of closing.reverse()) {
			try {
				await close();
			} catch (error) {
				result.error ??= `at the end: ${error?.stack ?? error}`;
			}
		}
		console.log(JSON.stringify(result));
	}
	process.exit(); // a client that was left behind must not keep the process
}

// eventually waits until ok returns, or promises, something true.
export async function eventually(what, ok) {
	const deadline = Date.now() + patienceMs;
	while (!(await ok())) {
		assert(Date.now() < deadline, `still not so: ${what}`);
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
}

// raw sends commands without any library, one connection for all of them, and returns when as many lines have come back.
// It is for what must be done to a client from outside.
export function raw(port, ...commands) {
	return new Promise((resolve, reject) => {
		const socket = createConnection(port, '127.0.0.1');
		let text = '';
		socket.on('error', reject);
		socket.on('data', (data) => {
			text += data;
			if (text.split('\r\n').length > commands.length) {
				socket.destroy();
				resolve(text);
			}
		});
		for (const args of commands) {
			socket.write(`*${args.length}\r\n` + args.map((a) => `$${Buffer.byteLength(a)}\r\n${a}\r\n`).join(''));
		}
	});
}

// inbox collects what callbacks are told, to be waited for.
export class Inbox {
	#items = [];
	#waiting = [];

	put = (...item) => {
		const waiting = this.#waiting.shift();
		waiting ? waiting(item) : this.#items.push(item);
	};

	next() {
		if (this.#items.length > 0) {
			return Promise.resolve(this.#items.shift());
		}
		return new Promise((resolve) => this.#waiting.push(resolve));
	}

	get empty() {
		return this.#items.length === 0;
	}
}

// sorted makes a list comparable whose order means nothing.
export const sorted = (list) => [...list].map(String).sort();

// fails expects a promise to be rejected with an error that begins so.
export async function fails(promise, beginning) {
	let error;
	try {
		await promise;
	} catch (caught) {
		error = caught;
	}
	assert(error, `no error, want ${beginning}`);
	assert(error.message.startsWith(beginning), `error ${error.message}, want ${beginning}`);
}

export { assert };
