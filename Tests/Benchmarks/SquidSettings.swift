// How squid is set to do what lupin does, and nothing else.
import Foundation

/// The settings file of the peer that caches, filters and intercepts by default or on demand.
enum SquidSettings {
    /// The program that signs certificates for squid; nil where squid was built without TLS.
    static let signer = ["/usr/lib", "/usr/lib64", "/usr/libexec", "/usr/local/squid/libexec"]
        .flatMap { ["\($0)/squid/security_file_certgen", "\($0)/security_file_certgen"] }
        .first(where: FileManager.default.isExecutableFile)

    static func text(_ setup: Contender.Setup) -> String {
        """
        \(listener(setup))
        http_access allow all
        workers 1
        cache deny all
        access_log none
        cache_log /dev/null
        cache_store_log none
        pid_filename none
        coredump_dir none
        netdb_filename none
        pinger_enable off
        max_filedescriptors 16384
        shutdown_lifetime 0 seconds
        client_idle_pconn_timeout 5 minutes
        server_idle_pconn_timeout 5 minutes
        visible_hostname bench

        """
    }

    /// As lupin does it: the name of the CONNECT decides on the certificate, and nobody looks at
    /// the origin first.
    private static func listener(_ setup: Contender.Setup) -> String {
        let port = "http_port 127.0.0.1:\(setup.port)"
        guard let files = setup.interception, let signer else { return port }
        return """
            \(port) ssl-bump generate-host-certificates=on dynamic_cert_mem_cache_size=16MB \
            tls-cert=\(files.authority) tls-key=\(files.authorityKey)
            sslcrtd_program \(signer)
            sslcrtd_children 1 startup=1 idle=1
            ssl_bump bump all
            tls_outgoing_options cafile=\(files.originRoot)
            """
    }
}
