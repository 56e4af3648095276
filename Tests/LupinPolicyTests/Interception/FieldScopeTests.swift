// Whether what belongs to one connection or one proxy stays there, name by name.

import LupinCore
import LupinPolicy
import Testing

struct FieldScopeTests {
    /// The fields that RFC 9110 §7.6.1 and the documents of their own bind to a connection.
    private static let ofConnection: [FieldName] = [
        .connection, .http2Settings, .keepAlive, .proxyConnection, .te, .upgrade,
    ]
    private static let ofProxy: [FieldName] = [
        .proxyAuthenticate, .proxyAuthenticationInfo, .proxyAuthorization,
    ]
    private static let ofHop = ofConnection + ofProxy + [.transferEncoding]

    @Test func `steps may touch what goes from end to end`() {
        for name in FieldName.allCases.dropFirst() {
            let isFixed =
                Self.ofHop.contains(name) || [.host, .contentLength, .trailer].contains(name)
            #expect(name.scope.isEndToEnd == !isFixed, "\(name.spelling)")
            let problem = RequestStep.problem(withFieldName: name.spelling)
            #expect((problem != nil) == isFixed, "\(name.spelling)")
        }
    }

    @Test func `a request leaves its hop's fields behind`() {
        for name in FieldName.allCases.dropFirst() {
            var fields = section(name)
            HopByHop.mark(request: &fields, keepsProxyAuthorization: false)
            #expect(fields.isMarked == Self.ofHop.contains(name), "\(name.spelling)")
        }
    }

    @Test func `a response leaves its hop's fields behind`() {
        for name in FieldName.allCases.dropFirst() {
            var fields = section(name)
            HopByHop.mark(response: &fields, keepsAltSvc: true)
            #expect(fields.isMarked == Self.ofHop.contains(name), "\(name.spelling)")
        }
    }

    @Test func `a parent proxy gets the credentials and asks for them`() {
        var request = section(.proxyAuthorization)
        HopByHop.mark(request: &request, keepsProxyAuthorization: true)
        #expect(!request.isMarked)
        var response = section(.proxyAuthenticate)
        HopByHop.mark(response: &response, keepsProxyAuthenticate: true, keepsAltSvc: true)
        #expect(!response.isMarked)
    }

    @Test func `what adapters add controls no connection`() {
        for name in FieldName.allCases.dropFirst() {
            var fields = section(name)
            HopByHop.markAdded(&fields)
            let isHop = Self.ofHop.contains(name) && name != .proxyAuthorization
            #expect(fields.isMarked == isHop, "\(name.spelling)")
        }
    }

    @Test func `a set has the names of its scopes`() {
        let set = FieldNameSet(of: .connection, .proxy).without(.te)
        for name in FieldName.allCases {
            let isIn = Self.ofConnection.contains(name) || Self.ofProxy.contains(name)
            #expect(set.contains(name) == (isIn && name != .te), "\(name.spelling)")
        }
    }

    private func section(_ name: FieldName) -> FieldSection {
        var fields = FieldSection()
        fields.add(name: name.spelling, value: "x")
        return fields
    }
}

extension FieldSection {
    fileprivate var isMarked: Bool { lines.first?.isHopByHop ?? false }
}
