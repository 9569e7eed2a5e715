// Browsers start no workers from files. A hidden frame runs the worker's script in place of one, so
// that the search works without a server.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.appendChild(this.frame)
      const inner = this.frame.contentWindow
      inner.document.open()
      inner.document.write("<html><body></body></html>")
      inner.document.close()
      inner.postMessage = (data) => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      inner.importScripts = (...urls) =>
        urls.reduce((done, each) => done.then(() => this.load(each)), Promise.resolve())
      this.ready = this.load(url)
    }

    load(url) {
      const document = this.frame.contentWindow.document
      return new Promise((resolve, reject) => {
        const script = document.createElement("script")
        script.src = String(url)
        script.onload = () => resolve()
        script.onerror = () => reject(new Error(`${url} cannot be loaded`))
        document.body.appendChild(script)
      })
    }

    postMessage(data) {
      this.ready.then(() =>
        this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })),
      )
    }

    terminate() {
      this.frame.remove()
    }
  }
}
