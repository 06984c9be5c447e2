// SPDX-License-Identifier: UNLICENSED
pragma solidity ^0.8.28;

import {TransferGroups} from "./Register.sol";
import {SecurityToken} from "./SecurityToken.sol";

/// Generation 2: grants are logged as held by the token itself, one leg per movement.
contract SecurityTokenV2 is SecurityToken, TransferGroups {
    event AddressMaxBalance(address indexed admin, address indexed addr, uint256 indexed value);

    constructor(
        string memory name_,
        string memory symbol_,
        uint8 decimals_,
        uint256 supply
    ) SecurityToken(name_, symbol_, decimals_, supply) {}

    function setTransferGroup(address addr, uint256 groupId) external only(WALLETS_ADMIN) {
        moveToGroup(addr, groupId);
    }

    function setAddressPermissions(
        address addr,
        uint256 groupId,
        uint256,
        uint256 maxBalance,
        bool status
    ) external only(WALLETS_ADMIN) {
        moveToGroup(addr, groupId);
        emit AddressMaxBalance(msg.sender, addr, maxBalance);
        freeze(addr, status);
    }

    /// Holders are kept on chain from generation 3 on.
    function welcome(address) internal override {}

    function logsApprovalOfTransferFrom() internal pure override returns (bool) {
        return true;
    }

    function logSend(address from, address to, uint256 unlockedPart, uint256 simplePart) internal override {
        if (unlockedPart > 0) emit Transfer(address(this), to, unlockedPart);
        if (simplePart > 0 || unlockedPart == 0) emit Transfer(from, to, simplePart);
    }

    function logFund(address from, address, uint256 unlockedPart, uint256 simplePart) internal override {
        if (unlockedPart > 0) emit Transfer(address(this), address(this), unlockedPart);
        if (simplePart > 0 || unlockedPart == 0) emit Transfer(from, address(this), simplePart);
    }

    function logClaim(address, address to, uint256 amount) internal override {
        emit Transfer(address(this), to, amount);
    }

    function logCancel(address target, address reclaimTo, uint256 canceled, uint256 paid) internal override {
        emit Transfer(address(this), reclaimTo, canceled);
        emit Transfer(address(this), target, paid);
    }
}
